"""The page of a task: its instance, its form, and why it is closed if somebody was faster."""

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop

from config.admin_base.pages import actor_of, recent_changes
from config.common.actors import say_actor
from config.common.errors import ApplicationError
from config.common.known_texts import KnownTexts
from config.records.models import ChangeRecord
from processes.workflows.admin.access import WorkflowAdmin
from processes.workflows.admin.drawings import Drawing, draw_state
from processes.workflows.admin.instance_page import FORMS
from processes.workflows.admin.presentation import explain_refusal, show_name, status_badge
from processes.workflows.admin.tasks.form import TaskForm
from processes.workflows.admin.values import ShownValues, show_values
from processes.workflows.engine import state_queries
from processes.workflows.engine.execution.records import TaskRecord
from processes.workflows.errors import TaskTaken
from processes.workflows.heads import Head, get_head
from processes.workflows.models import TaskCandidate, WorkflowIncident, WorkflowVersion, WorkItem
from processes.workflows.reasons import translate_reason
from processes.workflows.services.commands import command_instance
from processes.workflows.services.definitions.library import library_for
from processes.workflows.services.suspension import is_owner_suspended
from processes.workflows.services.task_assignment import KIND
from processes.workflows.task_rights import TaskRights, find_people, person_of, rights_over

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
    failure: str
    """Why completing it has failed, in the reader's language; empty while it has not."""
    drawings: list[Drawing]
    values: ShownValues
    people: "TaskPeopleCard | None"
    """None: it is not for people."""


@dataclass(frozen=True)
class TaskPeopleCard:
    """Whose a task is, and what this person may do with it."""

    rights: TaskRights
    assignee: str
    candidates: list[tuple[str, str]]
    """Of each its kind and its name, marked where nobody has it."""
    is_mine: bool
    is_overdue: bool
    notes: list[str]
    changes: list[tuple[ChangeRecord, str]]
    """The newest, with what each has made of it."""


def task_view(model_admin: WorkflowAdmin[WorkItem], request: HttpRequest, object_id: str) -> HttpResponse:
    model_admin.check_view(request)
    item = _get(model_admin, request, object_id)
    head = get_head(item.instance_id)
    record = (head.state or {}).get("tasks", {}).get(item.local)
    rights = rights_over(item, person_of(request.user), list(item.candidates.all()))
    may_complete = rights.complete or (
        item.kind == WorkItem.Kind.RECEIVE and model_admin.has_operate_permission(request)
    )
    if request.method == "POST":
        is_open = item.status == WorkItem.Status.OPEN and item.kind in FORMS
        if is_open and not may_complete and not item.assignee:
            raise PermissionDenied
        if is_open and not may_complete:
            messages.warning(request, explain_refusal(TaskTaken(assignee=item.assignee)))
            return HttpResponseRedirect(request.path)
        if record is None or item.kind not in FORMS:
            model_admin.check_operate(request)
            messages.warning(request, _explain_closed(_get(model_admin, request, object_id)))
            return HttpResponseRedirect(request.path)
        form = _form(head, record, request.POST)
        if form.is_valid() and (done := _complete(request, item, form)) is not None:
            return done
        return _show(model_admin, request, _get(model_admin, request, object_id), head, record, form)
    form_or_none = _form(head, record) if record is not None and may_complete else None
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
        message = gettext("It could not be completed: the task stays open. The incident says why.")
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
    incidents = WorkflowIncident.objects.filter(
        instance=item.instance_id, about=f"task:{item.local}", status=WorkflowIncident.Status.OPEN
    )
    incident = incidents.first() if is_open and head.open_incidents else None
    page = TaskPage(
        item=item,
        head=head,
        badge=status_badge(head.status),
        form=form,
        closed="" if is_open else _explain_closed(item),
        is_suspended=bool(head.state and record and is_owner_suspended(head.state, record["token"])),
        failure=translate_reason(incident.reason) if incident is not None else "",
        drawings=draw_state(head.id, head.number, head.state, own=(head.definition, head.revision)),
        values=show_values(visible),
        people=_build_people(request, item) if item.kind in WorkItem.FOR_PEOPLE else None,
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


def _build_people(request: HttpRequest, item: WorkItem) -> TaskPeopleCard:
    person, candidates = person_of(request.user), list(item.candidates.order_by("kind", "name"))
    groups = [each.name for each in candidates if each.kind == TaskCandidate.Kind.GROUP]
    known_groups = set(Group.objects.filter(name__in=groups).values_list("name", flat=True)) if groups else set()
    users = [each.name for each in candidates if each.kind == TaskCandidate.Kind.USER]
    known = find_people([*users, *filter(None, (item.assignee, item.owner))])
    sees_changes = request.user.has_perm("records.view_changerecord")
    return TaskPeopleCard(
        rights=rights_over(item, person, candidates),
        assignee=show_name(item.assignee, is_known=item.assignee in known) if item.assignee else "",
        candidates=[
            (
                each.get_kind_display(),
                show_name(
                    each.name, is_known=each.name in (known_groups if each.kind == TaskCandidate.Kind.GROUP else known)
                ),
            )
            for each in candidates
        ],
        is_mine=bool(item.assignee) and item.assignee == person.name,
        is_overdue=item.status == WorkItem.Status.OPEN and item.deadline_at < timezone.now(),
        notes=[_translate_note(note) for note in item.notes.splitlines()],
        changes=[(each, _describe_change(each)) for each in recent_changes(request, KIND, str(item.pk))]
        if sees_changes
        else [],
    )


_NOTES = KnownTexts(
    (
        gettext_noop("%(text)s cannot be evaluated here"),
        gettext_noop("%(text)s is not a whole number"),
        gettext_noop("the name has more than %(most)s characters"),
        gettext_noop("the value is not a name"),
        gettext_noop("there are %(count)s names; the first %(most)s are kept"),
    )
)


def _translate_note(note: str) -> str:
    """Return in the reader's language what the engine could not evaluate; the word of the file stays."""
    what, _, reason = note.partition(": ")
    said = _NOTES.translate(reason)
    return f"{what}: {said if said != reason else translate_reason(reason)}"


def _describe_change(change: ChangeRecord) -> str:
    """Return what a change has made of a task: the names of what differs, with their new values."""
    before, after = change.before or {}, change.after or {}
    names = {
        "assignee": gettext("assignee"),
        "owner": gettext("owner"),
        "due_at": gettext("due"),
        "follow_up_at": gettext("follow up"),
        "priority": gettext("priority"),
    }
    changed = (name for name in names if before.get(name) != after.get(name))
    return "; ".join(f"{names[name]}: {after.get(name) or '–'}" for name in changed)


def _explain_closed(item: WorkItem) -> str:
    """Return why a task cannot be completed here: it is closed, or not for people."""
    if item.status == WorkItem.Status.OPEN:
        return gettext("This task is completed by an external worker, not by a person.")
    if item.status == WorkItem.Status.ABANDONED:
        return gettext(
            "The instance has been returned to an earlier version: this task is no longer needed. If its work is "
            "needed again, there is a new task for it."
        )
    if item.status == WorkItem.Status.CANCELLED:
        return gettext("This task is no longer needed: the instance has taken another path or has ended.")
    versions = WorkflowVersion.objects.filter(instance=item.instance_id, number=item.closed_by or 0)
    actor = versions.values_list("actor", flat=True).first()
    text = gettext("%(actor)s has already completed this task, in version %(version)s of the instance.")
    return text % {"actor": say_actor(actor or ""), "version": item.closed_by}
