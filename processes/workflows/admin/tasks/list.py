from collections.abc import Iterable
from typing import Any, ClassVar

from django.contrib import admin
from django.core.paginator import Paginator
from django.db.models import QuerySet, prefetch_related_objects
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from config.admin_base.pages import badge
from config.admin_base.theme import DropdownFilter, display
from config.admin_base.times import time_element
from processes.workflows.admin.access import WorkflowAdmin
from processes.workflows.admin.filters import TaskDefinitionFilter, find_typed_id
from processes.workflows.admin.presentation import age_html, show_name, status_badge
from processes.workflows.admin.tasks.actions import ACTIONS, mails_view
from processes.workflows.admin.tasks.inbox import GROUPS, TAB, OfferedPaginator, inbox_of, my_tasks_view
from processes.workflows.admin.tasks.page import task_view
from processes.workflows.models import WorkItem
from processes.workflows.models.open_work import DEFAULT_PRIORITY
from processes.workflows.selectors import search_tasks
from processes.workflows.subjects import say_record
from processes.workflows.task_rights import find_people

MOST_NAMES = 3
"""Candidates that a row names."""


class TabFilter(DropdownFilter):
    """Takes the tab out of the address, where the list would look for a column; it is no choice of the filters."""

    title = parameter_name = TAB

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return []

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset


@admin.register(WorkItem)
class TaskAdmin(WorkflowAdmin[WorkItem]):
    list_display = ("about", "is_due", "whose", "waits", "fares")
    list_filter = (TaskDefinitionFilter, TabFilter)
    list_before_template = "admin/workflows/task_tabs.html"
    empty_text = _("No open tasks here.")
    list_select_related = ("instance__definition",)
    search_fields = ("id",)
    search_help_text = _("Task, record, definition, variable=value or id")
    ordering = ("deadline_at", "-priority", "id")
    sorted_by_index: ClassVar[tuple[str, ...]] = ("deadline_at",)

    @display(description=_("task"), ordering="name")
    def about(self, item: WorkItem) -> SafeString:
        record = format_html(" · {}", say_record(item.instance.record)) if item.instance.record else ""
        return format_html(
            '<div class="pst-workflow">{}<div class="pst-quiet">{}{}</div></div>',
            item,
            item.instance.definition,
            record,
        )

    @display(description=_("due"), ordering="deadline_at")
    def is_due(self, item: WorkItem) -> SafeString | str:
        shown: list[SafeString | str] = []
        if item.deadline is not None:
            shown.append(time_element(item.deadline))
            if item.deadline < timezone.now():
                shown.append(badge(gettext("overdue"), "danger"))
        if item.priority != DEFAULT_PRIORITY:
            shown.append(format_html('<span class="pst-quiet">{}</span>', gettext("priority %d") % item.priority))
        return format_html_join(" ", "{}", ((each,) for each in shown)) if shown else "–"

    @display(description=_("assignee"), ordering="assignee")
    def whose(self, item: WorkItem) -> SafeString | str:
        if item.assignee:
            return show_name(item.assignee, is_known=item.assignee in getattr(item, "known_names", ()))
        names = [each.name for each in item.candidates.all()]
        if not names:
            return "–"
        more = f" +{len(names) - MOST_NAMES}" if len(names) > MOST_NAMES else ""
        return format_html('<span class="pst-quiet">{}{}</span>', ", ".join(names[:MOST_NAMES]), more)

    @display(description=_("open for"), ordering="since")
    def waits(self, item: WorkItem) -> SafeString:
        return age_html(item.since)

    @display(description=_("instance"), ordering="instance__status")
    def fares(self, item: WorkItem) -> SafeString:
        return status_badge(item.instance.status)

    def complete_rows(self, rows: Iterable[WorkItem]) -> None:
        found = list(rows)
        prefetch_related_objects(found, "candidates")
        known = find_people(item.assignee for item in found if item.assignee)
        for item in found:
            item.known_names = known  # type: ignore[attr-defined]

    def get_queryset(self, request: HttpRequest) -> QuerySet[WorkItem]:
        """Return the tasks of the chosen tab; other views than the list see closed ones too."""
        rows = super().get_queryset(request).select_related("instance__definition").defer("inputs", "search")
        if not self._is_list(request):
            return rows
        return inbox_of(request).rows(rows.filter(status=WorkItem.Status.OPEN, kind__in=WorkItem.FOR_PEOPLE))

    def _is_list(self, request: HttpRequest) -> bool:
        match = request.resolver_match
        return match is not None and match.url_name in ("workflows_workitem_changelist", "workflows_workitem_export")

    def get_paginator(
        self,
        request: HttpRequest,
        queryset: QuerySet[WorkItem],
        per_page: int,
        orphans: int = 0,
        allow_empty_first_page: bool = True,
    ) -> "Paginator[WorkItem]":
        inbox = inbox_of(request)
        is_narrowed = any(value for name, value in request.GET.items() if name not in (TAB, "p"))
        if inbox.chosen != GROUPS or is_narrowed:
            return super().get_paginator(request, queryset, per_page, orphans, allow_empty_first_page)
        paginator = OfferedPaginator(queryset, per_page, orphans, allow_empty_first_page)
        paginator.person = inbox.person
        return paginator

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[WorkItem], search_term: str
    ) -> tuple[QuerySet[WorkItem], bool]:
        text = search_term.strip()
        if not text:
            return queryset, False
        instance_id = find_typed_id(text)
        return search_tasks(queryset, text) if instance_id is None else queryset.filter(instance=instance_id), False

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if not self.has_view_permission(request):
            return super().changelist_view(request, extra_context)
        tabs = inbox_of(request).tabs(request)
        context = {**(extra_context or {}), "tabs": tabs, "title": gettext("My tasks")}
        return super().changelist_view(request, context)

    def get_urls(self) -> list[URLPattern]:
        own = [
            path(
                f"<int:pk>/{name}/",
                self.admin_site.admin_view(lambda request, pk, act=act: act(self, request, pk)),
                name=f"workflows_workitem_{name}",
            )
            for name, act in ACTIONS.items()
        ]
        mails = path(
            "mails/",
            self.admin_site.admin_view(lambda request: mails_view(self, request)),
            name="workflows_workitem_mails",
        )
        card = path("card/", self.admin_site.admin_view(self.card_view), name="workflows_workitem_card")
        return [mails, card, *own, *super().get_urls()]

    def card_view(self, request: HttpRequest) -> HttpResponse:
        self.check_view(request)
        return my_tasks_view(request)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return task_view(self, request, object_id)
