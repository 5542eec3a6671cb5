from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.db.models import Count, DurationField, ExpressionWrapper, F, OuterRef, QuerySet
from django.db.models.functions import Coalesce, Now
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import AutocompleteSelectFilter

from config.access.scopes import Scope, permission
from config.admin_base.pages import (
    BigTableAdmin,
    Question,
    actor_of,
    ask_then_act,
    get_subject,
    page_of,
    trace_link,
)
from config.admin_base.theme import DropdownFilter, action, display
from config.common.database.sql import ArrayLength, CountUpTo
from messaging.admin.presentation import nowrap
from messaging.admin.reason_form import ReasonForm
from processes.exchange.admin.doubt_page import doubt_view
from processes.exchange.admin.lost_files import LostFilesForm, build_question
from processes.exchange.admin.presentation import draw_progress, format_process_duration, status_badge
from processes.exchange.admin.process_page import build_process_page
from processes.exchange.admin.statistics_page import statistics_view
from processes.exchange.models import ExchangeProcess, ProcessMessage
from processes.exchange.services.operations import (
    end_by_operator,
    find_lost_files,
    go_on_without_files,
    resolve_by_operator,
    retry_process,
)
from processes.exchange.transitions import LIVE

Status = ExchangeProcess.Status
MESSAGES = CountUpTo(ProcessMessage.objects.filter(process=OuterRef("pk")).order_by().values("pk"))
LASTED = ExpressionWrapper(Coalesce("ended_at", Now()) - F("started_at"), DurationField())


class StatusFilter(DropdownFilter):
    title = _("status")
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("live", _("in progress")), *Status.choices]

    def queryset(self, request: HttpRequest, queryset: QuerySet[ExchangeProcess]) -> QuerySet[ExchangeProcess]:
        chosen = self.value()
        if chosen == "live":
            return queryset.filter(status__in=LIVE)
        return queryset.filter(status=chosen) if chosen in Status.values else queryset


@admin.register(ExchangeProcess)
class ExchangeProcessAdmin(BigTableAdmin[ExchangeProcess]):
    list_display = ("database", "state", "started_at", "message_count", "reply_count", "duration")
    list_filter = (StatusFilter, ("database", AutocompleteSelectFilter))
    empty_text = _("A process appears here as soon as a database fetches its messages.")
    list_select_related = ("database",)
    search_fields = ("=id", "=correlation_id")
    search_help_text = _("Exact process id or correlation id")
    fields = ("id", "database", "subsystems", "decision", "started_at", "ready_at", "ended_at", "duration", "chain")
    actions_detail = ("committed", "not_committed", "retry", "go_on", "end")
    change_form_outer_before_template = "admin/exchange/way.html"
    change_form_outer_after_template = "admin/exchange/page.html"

    class Media:
        css = {"all": ["postern/sensors.css", "postern/deliveries.css", "postern/messaging.css"]}

    @display(description=_("status"), ordering="status")
    def state(self, process: ExchangeProcess) -> SafeString:
        return format_html('<span class="pst-nowrap">{}{}</span>', status_badge(process), draw_progress(process))

    @display(description=_("messages"), ordering=MESSAGES)
    def message_count(self, process: ExchangeProcess) -> int:
        return int(getattr(process, "number_of_messages", 0))

    @display(description=_("replies"), ordering=ArrayLength("replies"))
    def reply_count(self, process: ExchangeProcess) -> int:
        return len(process.replies)

    @display(description=_("duration"), ordering=LASTED)
    def duration(self, process: ExchangeProcess) -> SafeString:
        return nowrap(format_process_duration(process))

    @display(description=_("subsystems"))
    def subsystems(self, process: ExchangeProcess) -> str:
        return ", ".join(process.lane) or gettext("all")

    @display(description=_("correlation id"))
    def chain(self, process: ExchangeProcess) -> SafeString | str:
        return trace_link(process.correlation_id)

    def get_urls(self) -> list[URLPattern]:
        guard = self.admin_site.admin_view
        return [
            path("doubt/", guard(lambda request: doubt_view(self, request)), name="exchange_doubt"),
            path("statistics/", guard(lambda request: statistics_view(self, request)), name="exchange_statistics"),
            *super().get_urls(),
        ]

    def complete_rows(self, rows: Iterable[ExchangeProcess]) -> None:
        """Count the messages of each process."""
        keys = [row.pk for row in rows]
        counted = ProcessMessage.objects.filter(process__in=keys).order_by().values("process")
        numbers = dict(counted.annotate(number=Count("pk")).values_list("process", "number"))
        for row in rows:
            setattr(row, "number_of_messages", numbers.get(row.pk, 0))  # noqa: B010 (rides along to the column)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[ExchangeProcess], search_term: str
    ) -> tuple[QuerySet[ExchangeProcess], bool]:
        text = search_term.strip()
        if not text:
            return queryset, False
        named = queryset.filter(pk=text) if _is_uuid(text) else queryset.none()
        return (named if named.exists() else queryset.filter(correlation_id=text)), False

    def has_retry_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        return self._may_operate_on(request, object_id, Status.FAILED)

    def has_resolve_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        return self._may_operate_on(request, object_id, Status.IN_DOUBT)

    def has_end_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        return self._may_operate_on(request, object_id, Status.STARTED)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        process = self.get_object(request, object_id) if self.has_view_permission(request) else None
        page = None if process is None else build_process_page(request, process)
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), "page": page})

    @action(description=_("Try again"), permissions=["retry"], url_path="retry", icon="refresh")
    def retry(self, request: HttpRequest, object_id: str) -> HttpResponse:
        process = get_subject(self, request, object_id)
        question = Question(
            title=gettext("Move the files again?"),
            text=gettext(
                "The ERP has committed; only its files remain to be moved to their folders. First fix what prevented "
                "that: the log names it. Files that have already been moved stay where they are."
            ),
            button=gettext("Try again"),
        )

        def act(answers: dict[str, Any]) -> str:
            retry_process(process_id=process.pk, actor=actor_of(request))
            return gettext("The files are being moved.")

        return ask_then_act(self, request, process, question=question, act=act)

    @action(
        description=_("Continue without the file"),
        permissions=["retry"],
        url_path="go-on",
        icon="skip_next",
        dangerous=True,
    )
    def go_on(self, request: HttpRequest, object_id: str) -> HttpResponse:
        process = get_subject(self, request, object_id)
        lost = find_lost_files(process)
        if not lost:
            messages.warning(request, gettext("None of its files is missing: try moving them again."))
            return HttpResponseRedirect(page_of(self, process))

        def act(answers: dict[str, Any]) -> str:
            shown, reason = answers["shown"], answers["reason"]
            go_on_without_files(process_id=process.pk, messages=shown, reason=reason, actor=actor_of(request))
            return gettext("The process continues without these files.")

        shown = [message.pk for message in lost]
        form = LostFilesForm(request.POST if request.method == "POST" else None, initial={"shown": shown})
        return ask_then_act(self, request, process, question=build_question(lost), act=act, form=form)

    @action(description=_("End"), permissions=["end"], url_path="end", icon="stop_circle", dangerous=True)
    def end(self, request: HttpRequest, object_id: str) -> HttpResponse:
        process = get_subject(self, request, object_id)
        question = Question(
            title=gettext("End this process?"),
            text=gettext(
                "Its messages are offered again at once, and further calls of the ERP about this process are "
                "cancelled, so the ERP rolls back its work. If the ERP crashes on one of the messages, set that one "
                "aside."
            ),
            button=gettext("End process"),
            dangerous=True,
        )

        def act(answers: dict[str, Any]) -> str:
            end_by_operator(process_id=process.pk, reason=answers["reason"], actor=actor_of(request))
            return gettext("The process has ended; its messages are offered again.")

        form = ReasonForm(request.POST if request.method == "POST" else None)
        return ask_then_act(self, request, process, question=question, act=act, form=form)

    @action(description=_("Committed"), permissions=["resolve"], url_path="committed", icon="check_circle")
    def committed(self, request: HttpRequest, object_id: str) -> HttpResponse:
        question = Question(
            title=gettext("Has the ERP committed this process?"),
            text=gettext(
                "Processed messages go to Log, incorrect ones to Error, deadlocked ones are offered again, and the "
                "replies go to their devices. If the ERP has not committed, its work on them is lost: check in the "
                "ERP first."
            ),
            button=gettext("Committed"),
        )
        return self._resolve(request, object_id, question, committed=True)

    @action(
        description=_("Not committed"), permissions=["resolve"], url_path="not-committed", icon="cancel", dangerous=True
    )
    def not_committed(self, request: HttpRequest, object_id: str) -> HttpResponse:
        question = Question(
            title=gettext("Did the ERP not commit this process?"),
            text=gettext(
                "All its messages are offered again and its replies are deleted. If the ERP did commit after all, it "
                "will process them a second time: check in the ERP first."
            ),
            button=gettext("Not committed"),
            dangerous=True,
        )
        return self._resolve(request, object_id, question, committed=False)

    def _resolve(self, request: HttpRequest, object_id: str, question: Question, *, committed: bool) -> HttpResponse:
        process = get_subject(self, request, object_id)

        def act(answers: dict[str, Any]) -> str:
            reason, actor = answers["reason"], actor_of(request)
            resolve_by_operator(process_id=process.pk, committed=committed, reason=reason, actor=actor)
            return gettext("The process has been settled.")

        form = ReasonForm(request.POST if request.method == "POST" else None)
        after = reverse("admin:exchange_doubt")
        return ask_then_act(self, request, process, question=question, act=act, form=form, after=after)

    def _may_operate_on(self, request: HttpRequest, object_id: str | None, status: str) -> bool:
        if not request.user.has_perm(f"records.{permission(Scope.OPERATIONS)}"):
            return False
        process = None if object_id is None else self.get_object(request, object_id)
        return process is None or process.status == status


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
