from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext, ngettext_lazy, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from config.access.permissions import has_scope
from config.access.scopes import Scope
from config.admin_base.confirm_many import ManyAction, Report, Tally, confirm_many
from config.admin_base.pages import BigTableAdmin, Question, actor_of, ask_then_act, trace_link
from config.admin_base.theme import action, display
from config.admin_base.times import format_local
from config.common.errors import Conflict
from config.records.form_claims import SentTwice
from notifications.admin.presentation import (
    next_time,
    nowrap,
    repeater_of,
    say_length,
    status_badge,
)
from notifications.admin.session_chart import draw_backlog
from notifications.admin.session_filters import (
    DueFilter,
    StatusFilter,
    ThemeFilter,
    matching,
    ordering_of,
)
from notifications.admin.session_forms import ManyForm, ShiftForm, ShiftManyForm
from notifications.admin.session_page import build_session_page
from notifications.admin.session_records import is_editable, records_view
from notifications.errors import SessionNotFound
from notifications.models import RepeatSession
from notifications.sessions.backlog import read_backlog
from notifications.sessions.operator_actions import (
    MOST_AT_ONCE,
    MOST_DELETED_AT_ONCE,
    delete_by_staff,
    delete_many,
    repeat_many,
    revive_many,
    shift_many,
)

Status = RepeatSession.Status

COUNTED = ngettext_lazy("%(number)s session:", "%(number)s sessions:", "count")


class MovedBefore(Conflict):
    """This form has already been sent: the sessions have been rescheduled once, not twice."""


class NotWaiting(Conflict):
    """The status of the session has changed: it is being retried, or somebody has changed it."""


@admin.register(RepeatSession)
class SessionAdmin(BigTableAdmin[RepeatSession]):
    list_display = ("name", "state", "next_time", "failures", "size", "age")
    list_filter = (StatusFilter, DueFilter, ThemeFilter)
    empty_text = _("Work that is to be retried later waits here until it succeeds.")
    list_select_related = ("theme",)
    list_before_template = "admin/notifications/repeatsession/load.html"
    search_fields = ("id",)
    search_help_text = _("Session number, theme/number or correlation id")
    fields = ("state", "next_time_exactly", "theme_link", "failures", "size", "change", "created_at", "chain")
    actions = ("repeat_chosen", "shift_chosen", "revive_chosen", "delete_chosen")
    actions_detail = ("repeat_now", "shift", "revive", "edit", "remove")
    change_form_outer_after_template = "admin/notifications/repeatsession/page.html"

    class Media:
        css = {"all": ["postern/sensors.css", "postern/deliveries.css", "postern/sessions.css"]}

    @display(description=pgettext_lazy("session", "session"), ordering="pk")
    def name(self, session: RepeatSession) -> SafeString:
        words = '<div class="pst-session">{}<div class="pst-quiet">{}</div></div>'
        return format_html(words, session.pk, _say_theme(session))

    @display(description=_("status"), ordering="status")
    def state(self, session: RepeatSession) -> SafeString:
        return status_badge(session)

    @display(description=_("next attempt"), ordering="due_at")
    def next_time(self, session: RepeatSession) -> SafeString:
        return next_time(session, timezone.now())

    @display(description=_("next attempt"))
    def next_time_exactly(self, session: RepeatSession) -> SafeString:
        exact = "" if session.due_at is None else format_local(session.due_at)
        return format_html('{} <span class="pst-quiet">{}</span>', next_time(session, timezone.now()), exact)

    @display(description=_("failed attempts"), ordering="repeats")
    def failures(self, session: RepeatSession) -> SafeString:
        values = {"count": session.repeats, "limit": session.theme.repeat_limit}
        return nowrap(gettext("%(count)s of %(limit)s") % values)

    @display(description=_("records"), ordering="record_count")
    def size(self, session: RepeatSession) -> SafeString:
        return nowrap(f"{session.record_count} · {filesizeformat(session.length)}")

    @display(description=_("age"), ordering="created_at")
    def age(self, session: RepeatSession) -> SafeString:
        return nowrap(say_length(timezone.now() - session.created_at))

    @display(description=_("theme"))
    def theme_link(self, session: RepeatSession) -> SafeString:
        page = reverse("admin:notifications_theme_change", args=[session.theme_id])
        link = format_html('<a class="pst-link" href="{}">{}</a>', page, session.theme)
        return format_html('{} <span class="pst-quiet">{}</span>', link, repeater_of(session.theme))

    @display(description=_("correlation id"))
    def chain(self, session: RepeatSession) -> SafeString | str:
        return trace_link(session.correlation_id)

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        return ordering_of(request)

    def get_queryset(self, request: HttpRequest) -> QuerySet[RepeatSession]:
        return super().get_queryset(request).select_related("theme")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[RepeatSession], search_term: str
    ) -> tuple[QuerySet[RepeatSession], bool]:
        text = search_term.strip()
        return (queryset.filter(matching(text)) if text else queryset), False

    def has_operate_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        """Allow actions to users of the scope of sessions, and to those with the permission to change sessions."""
        may_act = has_scope(request.user, Scope.SESSIONS) or request.user.has_perm("notifications.change_repeatsession")
        return may_act and self.has_view_permission(request)

    def has_remove_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        may_delete = request.user.has_perm("notifications.delete_repeatsession") and self.has_view_permission(request)
        return may_delete or self.has_operate_permission(request)

    def has_move_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        return self._is_offered(request, object_id, lambda session: session.status == Status.SAVED)

    def has_revive_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        return self._is_offered(request, object_id, lambda session: session.status == Status.EXHAUSTED)

    def has_edit_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        return self._is_offered(request, object_id, is_editable)

    def _is_offered(self, request: HttpRequest, object_id: str | None, fits: Callable[[RepeatSession], bool]) -> bool:
        """Offer what fits the status; a POST is let through, so that a change of status is answered by a message."""
        if not self.has_operate_permission(request):
            return False
        session = None if object_id is None or request.method == "POST" else self.get_object(request, object_id)
        return session is None or fits(session)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        shown = {"load": draw_backlog(read_backlog(timezone.now()))} if request.method == "GET" else {}
        return super().changelist_view(request, {**(extra_context or {}), **shown})

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        session = self.get_object(request, object_id) if self.has_view_permission(request) else None
        page = None if session is None else build_session_page(request, session)
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), "page": page})

    @admin.action(description=_("Repeat now"), permissions=["operate"])
    def repeat_chosen(self, request: HttpRequest, chosen: QuerySet[RepeatSession]) -> HttpResponse | None:
        question = Question(
            title=gettext("Retry these sessions now?"),
            text=gettext("They run at once, in their order. Sessions that are not waiting are skipped."),
            button=gettext("Repeat now"),
        )

        def act(ids: Sequence[int], answers: dict[str, Any]) -> Tally:
            done = repeat_many(session_ids=ids, actor=actor_of(request))
            return Tally(done, len(ids) - done)

        def describe(tally: Tally) -> Report:
            done = tally.done
            said = ngettext("%(count)d session is due now.", "%(count)d sessions are due now.", done)
            return _report(said % {"count": done}, left_out=tally.left_out)

        return self._confirm_many(request, chosen, question, act, describe)

    @admin.action(description=_("Reschedule"), permissions=["operate"])
    def shift_chosen(self, request: HttpRequest, chosen: QuerySet[RepeatSession]) -> HttpResponse | None:
        question = Question(
            title=gettext("Reschedule the next attempts of these sessions?"),
            text=gettext(
                "The next attempt of each is moved by the same amount of time. Sessions that are not waiting are "
                "skipped."
            ),
            button=gettext("Reschedule"),
        )

        def act(ids: Sequence[int], answers: dict[str, Any]) -> Tally:
            done = _shift(request, ids, answers)
            return Tally(done, len(ids) - done)

        def describe(tally: Tally) -> Report:
            done = tally.done
            said = ngettext("%(count)d session rescheduled.", "%(count)d sessions rescheduled.", done)
            return _report(said % {"count": done}, left_out=tally.left_out)

        return self._confirm_many(request, chosen, question, act, describe, form=ShiftManyForm)

    @admin.action(description=_("Restart"), permissions=["operate"])
    def revive_chosen(self, request: HttpRequest, chosen: QuerySet[RepeatSession]) -> HttpResponse | None:
        question = Question(
            title=gettext("Restart these sessions?"),
            text=gettext("Exhausted sessions start over with all their attempts, beginning now."),
            button=gettext("Restart"),
        )

        def act(ids: Sequence[int], answers: dict[str, Any]) -> Tally:
            done = revive_many(session_ids=ids, actor=actor_of(request))
            return Tally(done, len(ids) - done)

        def describe(tally: Tally) -> Report:
            done = tally.done
            said = ngettext("%(count)d session restarted.", "%(count)d sessions restarted.", done)
            return _report(said % {"count": done}, left_out=tally.left_out)

        return self._confirm_many(request, chosen, question, act, describe)

    @admin.action(description=_("Delete"), permissions=["remove"])
    def delete_chosen(self, request: HttpRequest, chosen: QuerySet[RepeatSession]) -> HttpResponse | None:
        question = Question(
            title=gettext("Delete these sessions?"),
            text=gettext(
                "Their records will not be retried any more, not even by a worker that is processing them now."
            ),
            button=gettext("Delete"),
            dangerous=True,
        )

        def act(ids: Sequence[int], answers: dict[str, Any]) -> Tally:
            done = delete_many(session_ids=ids, actor=actor_of(request))
            return Tally(done, len(ids) - done)

        def describe(tally: Tally) -> Report:
            done = tally.done
            said = ngettext("%(count)d session deleted.", "%(count)d sessions deleted.", done)
            return _report(said % {"count": done}, left_out=tally.left_out)

        return self._confirm_many(request, chosen, question, act, describe, most=MOST_DELETED_AT_ONCE)

    @action(description=_("Repeat now"), permissions=["move"], url_path="repeat", icon="replay")
    def repeat_now(self, request: HttpRequest, object_id: str) -> HttpResponse:
        question = Question(
            title=gettext("Retry this session now?"),
            text=gettext("It runs at once, before sessions that are due later."),
            button=gettext("Repeat now"),
        )

        def act(session_id: int, answers: dict[str, Any]) -> str:
            _expect_one(repeat_many(session_ids=[session_id], actor=actor_of(request)))
            return gettext("The session is due now.")

        return self._ask(request, object_id, question, act)

    @action(description=_("Reschedule"), permissions=["move"], url_path="shift", icon="schedule")
    def shift(self, request: HttpRequest, object_id: str) -> HttpResponse:
        question = Question(
            title=gettext("Reschedule the next attempt of this session?"),
            text=gettext("Counted from its current time."),
            button=gettext("Reschedule"),
        )

        def act(session_id: int, answers: dict[str, Any]) -> str:
            _expect_one(_shift(request, [session_id], answers))
            return gettext("The next attempt has been rescheduled.")

        form = ShiftForm(request.POST if request.method == "POST" else None)
        return self._ask(request, object_id, question, act, form=form)

    @action(description=_("Restart"), permissions=["revive"], url_path="revive", icon="restart_alt")
    def revive(self, request: HttpRequest, object_id: str) -> HttpResponse:
        question = Question(
            title=gettext("Restart this session?"),
            text=gettext("It starts over with all its attempts, beginning now."),
            button=gettext("Restart"),
        )

        def act(session_id: int, answers: dict[str, Any]) -> str:
            _expect_one(revive_many(session_ids=[session_id], actor=actor_of(request)))
            return gettext("The session has been restarted.")

        return self._ask(request, object_id, question, act)

    @action(description=_("Edit records"), permissions=["edit"], url_path="records", icon="edit")
    def edit(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return records_view(self, request, object_id)

    @action(description=_("Delete"), permissions=["remove"], url_path="remove", icon="delete", dangerous=True)
    def remove(self, request: HttpRequest, object_id: str) -> HttpResponse:
        question = Question(
            title=gettext("Delete this session?"),
            text=gettext("Its records will not be retried any more, not even by a worker that is processing them now."),
            button=gettext("Delete"),
            dangerous=True,
        )

        def act(session_id: int, answers: dict[str, Any]) -> str:
            delete_by_staff(session_id=session_id, actor=actor_of(request))
            return gettext("The session has been deleted.")

        return self._ask(request, object_id, question, act, after=_list_page())

    def _confirm_many(
        self,
        request: HttpRequest,
        chosen: QuerySet[RepeatSession],
        question: Question,
        act: Callable[[Sequence[int], dict[str, Any]], Tally],
        describe: Callable[[Tally], Report],
        *,
        form: type[ManyForm] = ManyForm,
        most: int = MOST_AT_ONCE,
    ) -> HttpResponse | None:
        # Sessions come and go by themselves: what was counted is what is acted on.
        too_many = gettext("At most %(most)s sessions at a time: narrow down the list first.")
        too_many %= {"most": number_format(most, force_grouping=True)}
        many = ManyAction(
            question, act, describe, COUNTED, most, too_many=too_many, form=form, shown_as=_say_each, is_fixed=True
        )
        return confirm_many(self, request, chosen, many)

    def _ask(
        self,
        request: HttpRequest,
        object_id: str,
        question: Question,
        act: Callable[[int, dict[str, Any]], str],
        *,
        form: ShiftForm | None = None,
        after: str = "",
    ) -> HttpResponse:
        session = self.get_object(request, object_id)
        if session is None:
            messages.warning(request, SessionNotFound().message)
            return HttpResponseRedirect(_list_page())
        done = partial(act, session.pk)
        return ask_then_act(self, request, session, question=question, act=done, form=form, after=after)


def _shift(request: HttpRequest, ids: Sequence[int], answers: dict[str, Any]) -> int:
    seconds, form_id = answers["seconds"], answers["form_id"]
    try:
        return shift_many(session_ids=ids, seconds=seconds, form_id=form_id, actor=actor_of(request))
    except SentTwice as error:
        raise MovedBefore from error


def _expect_one(done: int) -> None:
    if not done:
        raise NotWaiting


def _list_page() -> str:
    return reverse("admin:notifications_repeatsession_changelist")


def _say_theme(session: RepeatSession) -> str:
    """Return whose work a session is: its theme and who repeats it."""
    said = {"theme": session.theme_id, "repeater": repeater_of(session.theme)}
    return gettext("theme %(theme)s · %(repeater)s") % said


def _say_each(rows: QuerySet[RepeatSession]) -> list[str]:
    return [f"{session.pk} · {_say_theme(session)}" for session in rows.select_related("theme")]


def _report(said: str, *, left_out: int) -> Report:
    if not left_out:
        return Report(said)
    words = ngettext(
        "%(count)d skipped: its status has changed meanwhile, or it no longer exists.",
        "%(count)d skipped: their status has changed meanwhile, or they no longer exist.",
        left_out,
    )
    return Report(said, words % {"count": left_out})
