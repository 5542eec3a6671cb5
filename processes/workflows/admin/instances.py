from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from config.admin_base.pages import Question, get_subject, page_of
from config.admin_base.theme import action, display
from processes.workflows.admin.access import WorkflowAdmin
from processes.workflows.admin.batches.begin import begin_batch
from processes.workflows.admin.commands import command_view, item_view, retry_view, variables_view
from processes.workflows.admin.filters import (
    AgeFilter,
    DefinitionFilter,
    ElementFilter,
    IncidentFilter,
    RevisionFilter,
    StatusFilter,
    VariableFilter,
    match_instance,
)
from processes.workflows.admin.instance_page import build_instance_page
from processes.workflows.admin.migration import migrate_view
from processes.workflows.admin.presentation import status_badge, time_html
from processes.workflows.admin.version_pages import (
    compare_view,
    diagram_view,
    get_instance,
    return_view,
    version_view,
)
from processes.workflows.engine.outlook import can_reactivate
from processes.workflows.heads import get_head
from processes.workflows.models import WorkflowBatch, WorkflowDefinition, WorkflowIncident, WorkflowInstance
from processes.workflows.models.instance import Status
from processes.workflows.services.definitions.library import library_for
from processes.workflows.subjects import say_record

Operation = WorkflowBatch.Operation
OFFERED = {
    Status.ACTIVE: ("variables", "suspend", "migrate", "terminate"),
    Status.INCIDENT: ("variables", "suspend", "migrate", "terminate"),
    Status.SUSPENDED: ("variables", "resume", "migrate", "terminate", "close"),
    Status.COMPLETED: ("reactivate", "close"),
    Status.TERMINATED: ("reactivate", "close"),
}
"""The buttons of each status; a status that has changed since the page was shown is explained by the dialog."""


@admin.register(WorkflowInstance)
class InstanceAdmin(WorkflowAdmin[WorkflowInstance]):
    list_display = ("about", "state", "since", "version")
    list_filter = (
        StatusFilter,
        DefinitionFilter,
        RevisionFilter,
        ElementFilter,
        IncidentFilter,
        VariableFilter,
        AgeFilter,
    )
    empty_text = _("Start an instance from the page of a definition, or let an event start it.")
    list_select_related = ("definition",)
    search_fields = ("id",)
    search_help_text = _("Exact record, or the id of an instance or a task")
    ordering = ("-id",)
    actions = (
        "retry_chosen",
        "suspend_chosen",
        "resume_chosen",
        "set_variables_chosen",
        "migrate_chosen",
        "terminate_chosen",
    )
    actions_detail = ("variables", "suspend", "resume", "migrate", "terminate", "reactivate", "close")
    change_form_outer_after_template = "admin/workflows/instance.html"

    @display(description=_("instance"), ordering="definition__name")
    def about(self, instance: WorkflowInstance) -> SafeString:
        record = format_html(" · {}", say_record(instance.record)) if instance.record else ""
        return format_html(
            '<div class="pst-workflow">{}{}<div class="pst-quiet">{}</div></div>',
            instance.definition,
            record,
            instance.pk,
        )

    @display(description=_("status"), ordering="status")
    def state(self, instance: WorkflowInstance) -> SafeString:
        return status_badge(instance.status)

    @display(description=_("started"), ordering="started_at")
    def since(self, instance: WorkflowInstance) -> SafeString:
        return time_html(instance.started_at)

    @display(description=_("version"), ordering="head")
    def version(self, instance: WorkflowInstance) -> str:
        return str(instance.head)

    def get_fieldsets(self, request: HttpRequest, obj: WorkflowInstance | None = None) -> Any:
        """Return none: the template below the buttons shows everything."""
        return []

    def get_queryset(self, request: HttpRequest) -> QuerySet[WorkflowInstance]:
        return super().get_queryset(request).select_related("definition")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[WorkflowInstance], search_term: str
    ) -> tuple[QuerySet[WorkflowInstance], bool]:
        text = search_term.strip()
        return (queryset.filter(match_instance(text)) if text else queryset), False

    def get_urls(self) -> list[URLPattern]:
        guard = self.admin_site.admin_view
        one = "<uuid:instance_id>"
        version = f"{one}/versions/<int:number>"
        return [
            path(f"{version}/diagram.svg", guard(self.diagram_view), name="workflows_instance_diagram"),
            path(f"{version}/return/", guard(self.return_view), name="workflows_instance_return"),
            path(f"{version}/", guard(self.version_view), name="workflows_instance_version"),
            path(f"{one}/compare/", guard(self.compare_view), name="workflows_instance_compare"),
            path(f"{one}/incidents/<int:number>/", guard(self.retry_view), name="workflows_instance_retry"),
            path(f"{one}/items/<str:item>/<str:command>/", guard(self.item_view), name="workflows_instance_item"),
            *super().get_urls(),
        ]

    def get_actions_detail(self, request: HttpRequest, object_id: str) -> list[Any]:
        """Return the buttons that fit the status of the instance."""
        allowed = super().get_actions_detail(request, object_id)  # type: ignore[misc]
        instance = self.get_object(request, object_id) if allowed else None
        offered = set() if instance is None else {*OFFERED.get(Status(instance.status), ())}
        if instance is not None and instance.definition.kind != WorkflowDefinition.Kind.CMMN:
            offered -= {"close", "reactivate"}
        if instance is not None and "reactivate" in offered and not self._can_reactivate(instance):
            offered.discard("reactivate")
        if instance is not None and instance.definition.newest < 2:
            offered.discard("migrate")
        return [each for each in allowed if each.action_name.rpartition("_")[2] in offered]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        instance = self.get_object(request, object_id) if self.has_view_permission(request) else None
        may_act = self.has_operate_permission(request)
        page = None if instance is None else build_instance_page(request, instance, may_act=may_act)
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), "page": page})

    def version_view(self, request: HttpRequest, instance_id: UUID, number: int) -> HttpResponse:
        self.check_view(request)
        return version_view(self, request, get_instance(self, request, instance_id), number)

    def compare_view(self, request: HttpRequest, instance_id: UUID) -> HttpResponse:
        self.check_view(request)
        return compare_view(self, request, get_instance(self, request, instance_id))

    def diagram_view(self, request: HttpRequest, instance_id: UUID, number: int) -> HttpResponse:
        self.check_view(request)
        return diagram_view(request, get_instance(self, request, instance_id), number)

    def return_view(self, request: HttpRequest, instance_id: UUID, number: int) -> HttpResponse:
        self.check_operate(request)
        return return_view(self, request, get_instance(self, request, instance_id), number)

    def retry_view(self, request: HttpRequest, instance_id: UUID, number: int) -> HttpResponse:
        self.check_operate(request)
        instance = get_instance(self, request, instance_id)
        rows = WorkflowIncident.objects.filter(instance=instance, status=WorkflowIncident.Status.OPEN)
        incident = rows.filter(pk=number).first() if number < 2**63 else None
        if incident is None:
            messages.info(request, gettext("This incident has already been resolved."))
            return HttpResponseRedirect(page_of(self, instance))
        return retry_view(self, request, instance, incident)

    def item_view(self, request: HttpRequest, instance_id: UUID, item: str, command: str) -> HttpResponse:
        self.check_operate(request)
        return item_view(self, request, get_instance(self, request, instance_id), item, command)

    @action(description=_("Change variables"), permissions=["operate"], url_path="variables", icon="edit")
    def variables(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return variables_view(self, request, self._get(request, object_id))

    @action(description=_("Suspend"), permissions=["operate"], url_path="suspend", icon="pause")
    def suspend(self, request: HttpRequest, object_id: str) -> HttpResponse:
        question = Question(
            title=gettext("Suspend this instance?"),
            text=gettext("Its timers, jobs, events and tasks wait until it is resumed."),
            button=gettext("Suspend"),
        )
        success = gettext("The instance has been suspended.")
        return command_view(self, request, self._get(request, object_id), "suspend", question, success)

    @action(description=_("Move to a revision"), permissions=["operate"], url_path="migrate", icon="move_up")
    def migrate(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return migrate_view(self, request, self._get(request, object_id))

    @action(description=_("Resume"), permissions=["operate"], url_path="resume", icon="play_arrow")
    def resume(self, request: HttpRequest, object_id: str) -> HttpResponse:
        question = Question(
            title=gettext("Resume this instance?"),
            text=gettext(
                "Timers that became due meanwhile fire at once, and events that arrived meanwhile are processed now."
            ),
            button=gettext("Resume"),
        )
        success = gettext("The instance has been resumed.")
        return command_view(self, request, self._get(request, object_id), "resume", question, success)

    @action(description=_("Terminate"), permissions=["operate"], url_path="terminate", icon="cancel", dangerous=True)
    def terminate(self, request: HttpRequest, object_id: str) -> HttpResponse:
        question = Question(
            title=gettext("Terminate this instance?"),
            text=gettext(
                "Everything it is waiting for is cancelled. What it has done outside cannot be undone. Its versions "
                "stay, and it can be returned to any of them."
            ),
            button=gettext("Terminate"),
            dangerous=True,
        )
        success = gettext("The instance has been terminated.")
        return command_view(self, request, self._get(request, object_id), "terminate", question, success)

    @admin.action(description=_("Retry incidents"), permissions=["operate"])
    def retry_chosen(self, request: HttpRequest, chosen: QuerySet[WorkflowInstance]) -> HttpResponse | None:
        return begin_batch(self, request, chosen, Operation.RETRY)

    @admin.action(description=_("Suspend"), permissions=["operate"])
    def suspend_chosen(self, request: HttpRequest, chosen: QuerySet[WorkflowInstance]) -> HttpResponse | None:
        return begin_batch(self, request, chosen, Operation.SUSPEND)

    @admin.action(description=_("Resume"), permissions=["operate"])
    def resume_chosen(self, request: HttpRequest, chosen: QuerySet[WorkflowInstance]) -> HttpResponse | None:
        return begin_batch(self, request, chosen, Operation.RESUME)

    @admin.action(description=_("Set variables"), permissions=["operate"])
    def set_variables_chosen(self, request: HttpRequest, chosen: QuerySet[WorkflowInstance]) -> HttpResponse | None:
        return begin_batch(self, request, chosen, Operation.SET_VARIABLES)

    @admin.action(description=_("Move to a revision"), permissions=["operate"])
    def migrate_chosen(self, request: HttpRequest, chosen: QuerySet[WorkflowInstance]) -> HttpResponse | None:
        return begin_batch(self, request, chosen, Operation.MIGRATE)

    @admin.action(description=_("Terminate"), permissions=["operate"])
    def terminate_chosen(self, request: HttpRequest, chosen: QuerySet[WorkflowInstance]) -> HttpResponse | None:
        return begin_batch(self, request, chosen, Operation.TERMINATE)

    @action(description=_("Reactivate"), permissions=["operate"], url_path="reactivate", icon="restart_alt")
    def reactivate(self, request: HttpRequest, object_id: str) -> HttpResponse:
        question = Question(
            title=gettext("Reactivate this case?"),
            text=gettext("It goes on: what had not been completed when it ended begins again."),
            button=gettext("Reactivate"),
        )
        success = gettext("The case has been reactivated.")
        return command_view(self, request, self._get(request, object_id), "reactivate", question, success)

    @action(
        description=_("Close the case"), permissions=["operate"], url_path="close", icon="inventory_2", dangerous=True
    )
    def close(self, request: HttpRequest, object_id: str) -> HttpResponse:
        question = Question(
            title=gettext("Close this case?"),
            text=gettext("It is archived for good. Its versions stay; only a return to one of them reopens it."),
            button=gettext("Close the case"),
            dangerous=True,
        )
        success = gettext("The case has been closed.")
        return command_view(self, request, self._get(request, object_id), "close", question, success)

    def _can_reactivate(self, instance: WorkflowInstance) -> bool:
        state = get_head(instance.pk).state
        return state is not None and can_reactivate(
            library_for(instance.definition.enterprise_id), state, timezone.now()
        )

    def _get(self, request: HttpRequest, object_id: str) -> WorkflowInstance:
        return get_subject(self, request, object_id)
