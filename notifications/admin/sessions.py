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
from django.utils.translation import gettext, ngettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from config.access.permissions import has_scope
from config.access.scopes import Scope
from config.admin_base.confirm_many import ManyAction, Report, bounded_paginator, confirm_many
from config.admin_base.pages import BigTableAdmin, Question, actor_of, ask_then_act, trace_link
from config.admin_base.theme import action, display
from config.common.errors import Conflict
from config.records.form_claims import SentTwice
from notifications.admin.presentation import (
    next_time,
    nowrap,
    repeater_of,
    say_length,
    say_time,
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


class MovedBefore(Conflict):
    """This form has been sent before: its sessions have been moved once, not twice."""


class NotWaiting(Conflict):
    """The session is no longer in the state that this is for: it is being repeated, or has been moved on by someone."""


@admin.register(RepeatSession)
class SessionAdmin(BigTableAdmin[RepeatSession]):
    list_display = ("name", "state", "next_time", "failures", "size", "age")
    list_filter = (StatusFilter, DueFilter, ThemeFilter)
    list_filter_submit = True
    list_select_related = ("theme",)
    list_max_show_all = 0
    list_before_template = "admin/notifications/repeatsession/load.html"
    paginator = bounded_paginator(MOST_AT_ONCE)
    search_fields = ("id",)
    search_help_text = _("Session number, theme/number or correlation id")
    fields = ("state", "next_time_exactly", "theme_link", "failures", "size", "change", "created_at", "chain")
    actions = ("repeat_chosen", "shift_chosen", "revive_chosen", "delete_chosen")
    actions_detail = ("repeat_now", "shift", "revive", "edit", "remove")
    change_form_outer_after_template = "admin/notifications/repeatsession/page.html"

    class Media:
        css = {"all": ["postern/sensors.css", "postern/deliveries.css", "postern/sessions.css"]}

    @display(description=pgettext_lazy("session", "session"))
    def name(self, session: RepeatSession) -> SafeString:
        about = gettext("theme %(theme)s · %(repeater)s") % {
            "theme": session.theme_id,
            "repeater": repeater_of(session.theme),
        }
        return format_html('<div class="pst-session">{}<div class="pst-quiet">{}</div></div>', session.pk, about)

    @display(description=_("status"))
    def state(self, session: RepeatSession) -> SafeString:
        return status_badge(session)

    @display(description=_("next repeat"))
    def next_time(self, session: RepeatSession) -> SafeString:
        return next_time(session, timezone.now())

    @display(description=_("next repeat"))
    def next_time_exactly(self, session: RepeatSession) -> SafeString:
        exact = "" if session.due_at is None else say_time(session.due_at)
        return format_html('{} <span class="pst-quiet">{}</span>', next_time(session, timezone.now()), exact)

    @display(description=_("failed repeats"))
    def failures(self, session: RepeatSession) -> SafeString:
        values = {"count": session.repeats, "limit": session.theme.repeat_limit}
        return nowrap(gettext("%(count)s of %(limit)s") % values)

    @display(description=_("records"))
    def size(self, session: RepeatSession) -> SafeString:
        return nowrap(f"{session.record_count} · {filesizeformat(session.length)}")

    @display(description=_("age"))
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
            title=gettext("Repeat these sessions now?"),
            text=gettext("They are due at once, in their order. Those that do not wait for their time are left out."),
            button=gettext("Repeat now"),
        )

        def act(ids: Sequence[int], answers: dict[str, Any]) -> Report:
            done = repeat_many(session_ids=ids, actor=actor_of(request))
            said = ngettext("%(count)d session is due now.", "%(count)d sessions are due now.", done)
            return _report(said % {"count": done}, left_out=len(ids) - done)

        return self._confirm_many(request, chosen, question, act)

    @admin.action(description=_("Shift by a delay"), permissions=["operate"])
    def shift_chosen(self, request: HttpRequest, chosen: QuerySet[RepeatSession]) -> HttpResponse | None:
        question = Question(
            title=gettext("Shift the repeat times of these sessions?"),
            text=gettext(
                "Each is moved by the same time from where it stands. Those that do not wait for their time are left "
                "out."
            ),
            button=gettext("Shift"),
        )

        def act(ids: Sequence[int], answers: dict[str, Any]) -> Report:
            done = _shift(request, ids, answers)
            said = ngettext("%(count)d session has been moved.", "%(count)d sessions have been moved.", done)
            return _report(said % {"count": done}, left_out=len(ids) - done)

        return self._confirm_many(request, chosen, question, act, form=ShiftManyForm)

    @admin.action(description=_("Revive"), permissions=["operate"])
    def revive_chosen(self, request: HttpRequest, chosen: QuerySet[RepeatSession]) -> HttpResponse | None:
        question = Question(
            title=gettext("Revive these sessions?"),
            text=gettext("Exhausted sessions start over with all their repeats, due at once."),
            button=gettext("Revive"),
        )

        def act(ids: Sequence[int], answers: dict[str, Any]) -> Report:
            done = revive_many(session_ids=ids, actor=actor_of(request))
            said = ngettext("%(count)d session is revived.", "%(count)d sessions are revived.", done)
            return _report(said % {"count": done}, left_out=len(ids) - done)

        return self._confirm_many(request, chosen, question, act)

    @admin.action(description=_("Delete"), permissions=["remove"])
    def delete_chosen(self, request: HttpRequest, chosen: QuerySet[RepeatSession]) -> HttpResponse | None:
        question = Question(
            title=gettext("Delete these sessions?"),
            text=gettext("Their records will not be repeated any more, not even by a worker that has them now."),
            button=gettext("Delete"),
            dangerous=True,
        )

        def act(ids: Sequence[int], answers: dict[str, Any]) -> Report:
            done = delete_many(session_ids=ids, actor=actor_of(request))
            said = ngettext("%(count)d session is deleted.", "%(count)d sessions are deleted.", done)
            return _report(said % {"count": done}, left_out=len(ids) - done)

        return self._confirm_many(request, chosen, question, act, most=MOST_DELETED_AT_ONCE)

    @action(description=_("Repeat now"), permissions=["move"], url_path="repeat", icon="replay")
    def repeat_now(self, request: HttpRequest, object_id: str) -> HttpResponse:
        question = Question(
            title=gettext("Repeat this session now?"),
            text=gettext("It is due at once, before those whose time comes later."),
            button=gettext("Repeat now"),
        )

        def act(session_id: int, answers: dict[str, Any]) -> str:
            _expect_one(repeat_many(session_ids=[session_id], actor=actor_of(request)))
            return gettext("The session is due now.")

        return self._ask(request, object_id, question, act)

    @action(description=_("Shift"), permissions=["move"], url_path="shift", icon="schedule")
    def shift(self, request: HttpRequest, object_id: str) -> HttpResponse:
        question = Question(
            title=gettext("Shift the repeat time of this session?"),
            text=gettext("The shift counts from its current repeat time."),
            button=gettext("Shift"),
        )

        def act(session_id: int, answers: dict[str, Any]) -> str:
            _expect_one(_shift(request, [session_id], answers))
            return gettext("The repeat time has been moved.")

        form = ShiftForm(request.POST if request.method == "POST" else None)
        return self._ask(request, object_id, question, act, form=form)

    @action(description=_("Revive"), permissions=["revive"], url_path="revive", icon="restart_alt")
    def revive(self, request: HttpRequest, object_id: str) -> HttpResponse:
        question = Question(
            title=gettext("Revive this session?"),
            text=gettext("It starts over with all its repeats, due at once."),
            button=gettext("Revive"),
        )

        def act(session_id: int, answers: dict[str, Any]) -> str:
            _expect_one(revive_many(session_ids=[session_id], actor=actor_of(request)))
            return gettext("The session is revived.")

        return self._ask(request, object_id, question, act)

    @action(description=_("Edit records"), permissions=["edit"], url_path="records", icon="edit")
    def edit(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return records_view(self, request, object_id)

    @action(description=_("Delete"), permissions=["remove"], url_path="remove", icon="delete", dangerous=True)
    def remove(self, request: HttpRequest, object_id: str) -> HttpResponse:
        question = Question(
            title=gettext("Delete this session?"),
            text=gettext("Its records will not be repeated any more, not even by a worker that has them now."),
            button=gettext("Delete"),
            dangerous=True,
        )

        def act(session_id: int, answers: dict[str, Any]) -> str:
            delete_by_staff(session_id=session_id, actor=actor_of(request))
            return gettext("The session is deleted.")

        return self._ask(request, object_id, question, act, after=_list_page())

    def _confirm_many(
        self,
        request: HttpRequest,
        chosen: QuerySet[RepeatSession],
        question: Question,
        act: Callable[[Sequence[int], dict[str, Any]], Report],
        *,
        form: type[ManyForm] = ManyForm,
        most: int = MOST_AT_ONCE,
    ) -> HttpResponse | None:
        # Sessions come and go by themselves: what was counted is what is acted on.
        too_many = gettext("At most %(most)s sessions at once: narrow the list first.")
        too_many %= {"most": number_format(most, force_grouping=True)}
        many = ManyAction(question, act, _count_words, most, too_many=too_many, form=form, is_fixed=True)
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


def _count_words(count: int) -> str:
    return ngettext("%(number)s session:", "%(number)s sessions:", count) % {"number": number_format(count)}


def _report(said: str, *, left_out: int) -> Report:
    if not left_out:
        return Report(said)
    words = ngettext(
        "%(count)d was left out: it is in another state by now, or gone.",
        "%(count)d were left out: they are in another state by now, or gone.",
        left_out,
    )
    return Report(said, words % {"count": left_out})
