"""Answer `?instance=` and `?task=`: why does an instance stand still, why is a task not there?"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import F
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext

from config.access.scopes import Scope, permission
from config.audit.explain import Asker, Evidence, Explanation, Question, link_trace
from config.common.errors import Invalid
from config.common.times import format_time
from processes.workflows.admin.presentation import describe_cause
from processes.workflows.engine.state_queries import list_items
from processes.workflows.errors import InstanceNotFound, TaskNotFound
from processes.workflows.explanation.verdict import (
    Case,
    Decision,
    TaskCase,
    TaskVerdict,
    Verdict,
    decide,
    decide_task,
)
from processes.workflows.explanation.words import write_sentence, write_task_sentence
from processes.workflows.heads import Head, get_head
from processes.workflows.ids import find_instance_id, local_id
from processes.workflows.models import (
    TaskCandidate,
    WorkflowIncident,
    WorkflowInstance,
    WorkflowSubscription,
    WorkflowTimer,
    WorkflowVersion,
    WorkItem,
)
from processes.workflows.reasons import translate_reason
from processes.workflows.selectors import find_open_incidents
from processes.workflows.services.definitions.library import UnknownDefinition, get_compiled
from processes.workflows.services.suspension import is_instance_suspended, is_owner_suspended
from processes.workflows.state_storage import section

SHOWN = 20
"""Rows of each kind that are looked at; an instance has as many as its definition lets it."""
VERSIONS_SEARCHED = 200
READ = f"records.{permission(Scope.WORKFLOWS_READ)}"


def explain_instance(asked: Mapping[str, Any], asker: Asker) -> Explanation:
    """Explain what an instance waits for."""
    head = get_head(asked["instance"])
    case = _collect(head)
    decision = _decide_by_names(head, case)
    return Explanation(
        gettext("What is “%(instance)s” waiting for?") % {"instance": case.instance},
        decision.verdict.value,
        write_sentence(decision, reason=_reason(case), show=asker.show_time),
        decision.since,
        decision.until,
        tuple(_evidence(case)),
        about=(_link(case.instance), *link_trace(case.instance.correlation_id)),
    )


def explain_task(asked: Mapping[str, Any], asker: Asker) -> Explanation:
    """Explain why a task is not there: by its id, or by the element of an instance."""
    instance_id = asked.get("instance") or find_instance_id(asked["task"])
    if instance_id is None:
        raise Invalid({"task": [gettext("Must be the id of a task, or of an element together with `instance`.")]})
    head = get_head(instance_id)
    instance_case = _collect(head)
    case = _collect_task(head, instance_case, asked["task"], by_element="instance" in asked)
    decision = decide_task(case)
    around = _decide_by_names(head, instance_case)
    standstill = write_sentence(around, reason=_reason(instance_case), show=asker.show_time)
    name = str(case.item or asked["task"])
    return Explanation(
        gettext("Why does “%(instance)s” have no task “%(task)s”?") % {"task": name, "instance": case.instance},
        decision.verdict.value,
        write_task_sentence(case, decision, standstill=standstill, show=asker.show_time),
        decision.since,
        None,
        tuple(_task_evidence(case, instance_case)),
        about=(_link(case.instance), *link_trace(case.instance.correlation_id)),
    )


INSTANCE_QUESTION = Question(
    "instance",
    Scope.WORKFLOWS_READ,
    explain_instance,
    verdicts=tuple(verdict.value for verdict in Verdict),
    good=frozenset({Verdict.ENDED.value}),
    errors=(InstanceNotFound,),
)
TASK_QUESTION = Question(
    "task",
    Scope.WORKFLOWS_READ,
    explain_task,
    takes=("instance",),
    verdicts=tuple(verdict.value for verdict in TaskVerdict),
    good=frozenset({TaskVerdict.OPEN.value, TaskVerdict.DONE.value}),
    errors=(TaskNotFound,),
)


def _collect(head: Head) -> Case:
    instance = WorkflowInstance.objects.select_related("definition").get(pk=head.id)
    state = head.state or {}
    is_suspended = is_instance_suspended(state)
    timers = WorkflowTimer.objects.filter(instance=head.id).order_by(F("due_at").asc(nulls_last=True), "pk")
    subscriptions = WorkflowSubscription.objects.filter(instance=head.id).order_by("pk")
    work = WorkItem.objects.filter(instance=head.id, status=WorkItem.Status.OPEN).defer("inputs").order_by("pk")
    return Case(
        timezone.now(),
        instance,
        is_suspended=is_suspended,
        suspended_at=_find_suspension(head) if is_suspended else None,
        incidents=find_open_incidents([head.id]).get(head.id, [])[:SHOWN] if head.open_incidents else [],
        work=list(work[:SHOWN]),
        candidates=_find_candidates(head.id),
        timers=list(timers[:SHOWN]),
        subscriptions=list(subscriptions[:SHOWN]),
        enabled=[item["element"] for item in list_items(state) if item["state"] == "enabled"][:SHOWN],
    )


def _find_candidates(instance_id: UUID) -> dict[int, list[str]]:
    """Return who may claim the tasks of an instance that nobody has."""
    rows = TaskCandidate.objects.filter(item__instance=instance_id, is_waiting=True).order_by("item_id", "kind", "name")
    found: dict[int, list[str]] = {}
    for item, name in rows.values_list("item_id", "name")[: SHOWN * SHOWN]:
        found.setdefault(item, []).append(name)
    return found


def _find_suspension(head: Head) -> datetime | None:
    """Return when a suspended instance was suspended, if one of its newest versions tells."""
    versions = WorkflowVersion.objects.filter(instance=head.id).order_by("-number")
    rows = versions.values_list("status", "at")[:VERSIONS_SEARCHED]
    since = None
    for status, at in rows:
        if status != "suspended":
            break
        since = at
    return since


def _collect_task(head: Head, around: Case, task: str, *, by_element: bool) -> TaskCase:
    local = local_id(head.id, task)
    rows = WorkItem.objects.filter(instance=head.id).defer("inputs").order_by("-pk")
    item = rows.filter(local=local).first()
    if item is None and by_element:
        item = rows.filter(element=task).first()
    if item is None and not by_element:
        raise TaskNotFound
    if item is None:
        return TaskCase(around.instance, is_known=_has_element(head, task))
    closing = WorkflowVersion.objects.filter(instance=head.id, number=item.closed_by or 0)
    about = f"task:{item.local}"
    incident = next((each for each in around.incidents if each.about == about), None)
    record = section(head.state or {}, "tasks").get(item.local)
    is_suspended = record is not None and is_owner_suspended(head.state or {}, record["token"])
    candidates = around.candidates.get(item.pk, ())
    return TaskCase(around.instance, item, closing.first(), incident, is_suspended=is_suspended, candidates=candidates)


def _has_element(head: Head, element: str) -> bool:
    """Return whether the definition of an instance, or one that it has called, has such an element."""
    for key, revision in _list_definitions(head):
        try:
            if element in get_compiled(key, revision).nodes:
                return True
        except UnknownDefinition:
            return True  # it cannot be looked at any more: what it has is not known
    return False


def _decide_by_names(head: Head, case: Case) -> Decision:
    """Return the decision about an instance, with the name of the element that it is about instead of its id."""
    decision = decide(case)
    if decision.verdict not in _ABOUT_ELEMENTS:
        return decision
    for key, revision in _list_definitions(head):
        with suppress(UnknownDefinition):
            node = get_compiled(key, revision).nodes.get(decision.name)
            if node is not None and node.name:
                return replace(decision, name=node.name)
    return decision


_ABOUT_ELEMENTS = frozenset({Verdict.INCIDENT, Verdict.TIMER, Verdict.DUE, Verdict.START})


def _list_definitions(head: Head) -> list[tuple[str, int]]:
    scopes = (head.state or {}).get("scopes", {}).values()
    called = [(key, revision) for key, revision in (each["definition"] for each in scopes if "definition" in each)]
    return list(dict.fromkeys([(head.definition, head.revision), *called]))


def _reason(case: Case) -> str:
    return translate_reason(case.incidents[0].reason) if case.incidents else ""


def _link(instance: WorkflowInstance) -> tuple[str, str]:
    return str(instance), _page(instance.pk)


def _page(instance_id: UUID) -> str:
    return reverse("admin:workflows_workflowinstance_change", args=[instance_id])


def _evidence(case: Case) -> Iterator[Evidence]:
    instance, page = case.instance, _page(case.instance.pk)
    data = {"status": instance.status, "version": instance.head, "record": instance.record}
    status = gettext("Instance: %(status)s") % {"status": instance.get_status_display()}
    yield Evidence(instance.started_at, "workflow", str(instance.pk), status, READ, data, page)
    yield from (_incident_row(incident) for incident in case.incidents)
    yield from (_work_row(item) for item in case.work)
    for timer in case.timers:
        data = {"element": timer.element, "due_at": timer.due_at and format_time(timer.due_at)}
        yield Evidence(timer.due_at, "timer", f"{instance.pk}.{timer.local}", timer.element, READ, data, page)
    for each in case.subscriptions:
        data = {"element": each.element, "kind": each.kind, "record": each.record}
        yield Evidence(None, "subscription", f"{instance.pk}.{each.local}", str(each), READ, data, page)


def _incident_row(incident: WorkflowIncident) -> Evidence:
    data = {"element": incident.element, "times": incident.times}
    reason = translate_reason(incident.reason)
    page = _page(incident.instance_id)
    return Evidence(incident.opened_at, "incident", incident.pk, reason[:300], READ, data, page)


def _work_row(item: WorkItem) -> Evidence:
    data = {
        "element": item.element,
        "kind": item.kind,
        "status": item.status,
        "topic": item.topic,
        "worker": item.worker,
        "due_at": item.due_at and format_time(item.due_at),
        "last_error": item.last_error[:300],
        "assignee": item.assignee,
        "owner": item.owner,
        "priority": item.priority,
        "deadline": item.deadline and format_time(item.deadline),
    }
    summary = f"{item} · {item.get_status_display()}"
    return Evidence(item.since, "task", item.public_id, summary, READ, data, _page(item.instance_id))


def _task_evidence(case: TaskCase, around: Case) -> Iterator[Evidence]:
    if case.item is None:
        yield from _evidence(around)
        return
    yield _work_row(case.item)
    if case.closed_by is not None:
        version = case.closed_by
        data = {"cause": version.cause, "actor": version.actor, "parent": version.parent}
        cause = describe_cause(version.cause, {})
        summary = gettext("Version %(number)s: %(cause)s") % {"number": version.number, "cause": cause}
        page = reverse("admin:workflows_workflowinstance_change", args=[version.instance_id])
        yield Evidence(version.at, "version", version.number, summary, READ, data, page)
    if case.incident is not None:
        yield _incident_row(case.incident)
