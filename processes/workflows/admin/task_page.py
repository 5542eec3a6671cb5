"""The page of a task: its instance, its form, and why it is closed if somebody was faster."""

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext

from config.admin_base.pages import actor_of
from config.common.errors import ApplicationError
from processes.workflows.admin.access import WorkflowAdmin
from processes.workflows.admin.drawings import Drawing, draw_state
from processes.workflows.admin.instance_page import FORMS
from processes.workflows.admin.presentation import explain_refusal, status_badge
from processes.workflows.admin.task_form import TaskForm
from processes.workflows.admin.values import ShownValues, show_values
from processes.workflows.engine import state_queries
from processes.workflows.engine.execution.records import TaskRecord
from processes.workflows.heads import Head, get_head
from processes.workflows.models import WorkflowIncident, WorkflowVersion, WorkItem
from processes.workflows.services.commands import command_instance
from processes.workflows.services.library import library_for
from processes.workflows.services.suspension import is_owner_suspended

INBOX = "admin:workflows_workitem_changelist"


@dataclass(frozen=True)
class TaskPage:
    item: WorkItem
    head: Head
    badge: str
    form: TaskForm | None
    """None: this person may not fill it in, it is not for people, or it is not open."""
    closed: str
    is_suspended: bool
    """The item around it is suspended, though the instance is not."""
    incident: WorkflowIncident | None
    drawings: list[Drawing]
    values: ShownValues


def task_view(model_admin: WorkflowAdmin[WorkItem], request: HttpRequest, object_id: str) -> HttpResponse:
    model_admin.check_view(request)
    item = _get(model_admin, request, object_id)
    head = get_head(item.instance_id)
    record = (head.state or {}).get("tasks", {}).get(item.local)
    if request.method == "POST":
        model_admin.check_operate(request)
        if record is None or item.kind not in FORMS:
            messages.warning(request, _explain_closed(_get(model_admin, request, object_id)))
            return HttpResponseRedirect(request.path)
        form = _form(head, record, request.POST)
        if form.is_valid() and (done := _complete(request, item, form)) is not None:
            return done
        return _show(model_admin, request, _get(model_admin, request, object_id), head, record, form)
    may_fill = record is not None and item.kind in FORMS and model_admin.has_operate_permission(request)
    form_or_none = _form(head, record) if record is not None and may_fill else None
    return _show(model_admin, request, item, head, record, form_or_none)


def _get(model_admin: WorkflowAdmin[WorkItem], request: HttpRequest, object_id: str) -> WorkItem:
    item = model_admin.get_object(request, object_id)
    if item is None:
        raise Http404
    return item


def _form(head: Head, record: TaskRecord, data: Any = None) -> TaskForm:
    assert head.state is not None
    node = state_queries.get_node(head.state, library_for(None), record["scope"], record["element"])
    known = state_queries.get_visible_variables(head.state, record["scope"])
    return TaskForm(node.form, known, data)


def _complete(request: HttpRequest, item: WorkItem, form: TaskForm) -> HttpResponse | None:
    """Complete the task and redirect; return None where it was refused, with the reason in the form."""
    body = {"command": "complete_task", "task": item.public_id, "variables": form.variables}
    try:
        head = command_instance(item.instance_id, body, actor=actor_of(request), at=timezone.now())
    except ApplicationError as error:
        form.add_error(None, explain_refusal(error))
        return None
    if item.local in (head.state or {}).get("tasks", {}):
        message = gettext("Completing it failed: the task stays open. The incident says why.")
        messages.warning(request, message)
        page = reverse("admin:workflows_workflowinstance_change", args=[item.instance_id])
        return HttpResponseRedirect(page)
    messages.success(request, gettext("Done: “%(task)s”.") % {"task": item})
    return HttpResponseRedirect(reverse(INBOX))


def _show(
    model_admin: WorkflowAdmin[WorkItem],
    request: HttpRequest,
    item: WorkItem,
    head: Head,
    record: TaskRecord | None,
    form: TaskForm | None,
) -> HttpResponse:
    is_open = item.status == WorkItem.Status.OPEN
    visible = state_queries.get_visible_variables(head.state, record["scope"]) if head.state and record else {}
    page = TaskPage(
        item=item,
        head=head,
        badge=status_badge(head.status),
        form=form,
        closed="" if is_open else _explain_closed(item),
        is_suspended=bool(head.state and record and is_owner_suspended(head.state, record["token"])),
        incident=_find_incident(item) if is_open and head.open_incidents else None,
        drawings=draw_state(head.id, head.number, head.state, own=(head.definition, head.revision)),
        values=show_values(visible),
    )
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.opts,
        "title": str(item),
        "original": item,
        "media": model_admin.media,
        "page": page,
        "back": reverse(INBOX),
    }
    return TemplateResponse(request, "admin/workflows/task.html", context)


def _find_incident(item: WorkItem) -> WorkflowIncident | None:
    rows = WorkflowIncident.objects.filter(instance=item.instance_id, about=f"task:{item.local}")
    return rows.filter(status=WorkflowIncident.Status.OPEN).first()


def _explain_closed(item: WorkItem) -> str:
    """Return why a task cannot be completed here: it is closed, or not for people."""
    if item.status == WorkItem.Status.OPEN:
        return gettext("This task is completed by a worker for its topic, not by a person.")
    if item.status == WorkItem.Status.ABANDONED:
        return gettext(
            "The instance has been returned to an earlier version since: this task is not waited for any more. If its "
            "work is needed again, a new task stands for it."
        )
    if item.status == WorkItem.Status.CANCELLED:
        return gettext("This task is not needed any more: the instance has gone another way or has ended.")
    versions = WorkflowVersion.objects.filter(instance=item.instance_id, number=item.closed_by or 0)
    actor = versions.values_list("actor", flat=True).first()
    text = gettext("This task has been done, by %(actor)s, as version %(version)s of its instance.")
    return text % {"actor": actor or "–", "version": item.closed_by}
