from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from config.admin_base.theme import display
from processes.workflows.admin.access import WorkflowAdmin
from processes.workflows.admin.filters import TaskDefinitionFilter, find_typed_id
from processes.workflows.admin.presentation import age_html, status_badge
from processes.workflows.admin.task_page import task_view
from processes.workflows.models import WorkItem

INBOX = (WorkItem.Kind.USER, WorkItem.Kind.MANUAL)


@admin.register(WorkItem)
class TaskAdmin(WorkflowAdmin[WorkItem]):
    list_display = ("about", "waits", "fares")
    list_filter = (TaskDefinitionFilter,)
    list_select_related = ("instance__definition",)
    search_fields = ("id",)
    search_help_text = _("Exact record, or the id of an instance or a task")
    ordering = ("id",)

    @display(description=_("task"))
    def about(self, item: WorkItem) -> SafeString:
        record = format_html(" · {}", item.instance.record) if item.instance.record else ""
        return format_html(
            '<div class="pst-workflow">{}<div class="pst-quiet">{}{}</div></div>',
            item,
            item.instance.definition,
            record,
        )

    @display(description=_("open for"))
    def waits(self, item: WorkItem) -> SafeString:
        return age_html(item.since)

    @display(description=_("instance"))
    def fares(self, item: WorkItem) -> SafeString:
        return status_badge(item.instance.status)

    def get_queryset(self, request: HttpRequest) -> QuerySet[WorkItem]:
        """Return the tasks that wait for a person; other views than the list see closed ones too."""
        rows = super().get_queryset(request).select_related("instance__definition").defer("inputs")
        match = request.resolver_match
        is_list = match is not None and match.url_name == "workflows_workitem_changelist"
        return rows.filter(status=WorkItem.Status.OPEN, kind__in=INBOX) if is_list else rows

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[WorkItem], search_term: str
    ) -> tuple[QuerySet[WorkItem], bool]:
        text = search_term.strip()
        if not text:
            return queryset, False
        instance_id = find_typed_id(text)
        matching = Q(instance__record=text) if instance_id is None else Q(instance=instance_id)
        return queryset.filter(matching), False

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return task_view(self, request, object_id)
