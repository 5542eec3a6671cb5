"""Activities: tasks, sub-processes, call activities. Those with a loop begin in `loops`."""

from collections.abc import Sequence

from processes.workflows.engine.definition import Node, NodeKind, Trigger
from processes.workflows.engine.execution.calls import call_definition
from processes.workflows.engine.execution.compensation import record_completed
from processes.workflows.engine.execution.decisions import call_decision
from processes.workflows.engine.execution.flows import leave_element
from processes.workflows.engine.execution.people import describe_people
from processes.workflows.engine.execution.records import (
    CompensationEntry,
    ScopeRecord,
    TaskRecord,
    Variables,
)
from processes.workflows.engine.execution.scopes import begin_scope, open_scope
from processes.workflows.engine.execution.triggers import arm_event
from processes.workflows.engine.execution.unit_of_work import UnitOfWork
from processes.workflows.engine.execution.variables import (
    evaluate,
    evaluate_inputs,
    evaluate_payload,
    get_visible,
    write_variables,
)

IMMEDIATE = frozenset({"event", "webhook", "alert", "message"})
"""Handlers whose effect is published without waiting for an answer."""
EXTERNAL = "external"
FOR_PEOPLE = ("user", "manual")
_WAITING = {NodeKind.USER_TASK: "user", NodeKind.MANUAL_TASK: "manual", NodeKind.RECEIVE_TASK: "receive"}


def begin_activity(work: UnitOfWork, token: str, node: Node) -> None:
    """Begin an activity, or one round of it."""
    scope = work.tokens[token]["scope"]
    if node.kind in _WAITING:
        _open_task(work, token, node, _WAITING[node.kind], evaluate_inputs(work, token, node) if node.inputs else None)
    elif node.decision is not None:
        call_decision(work, scope, node, evaluate_payload(work, token, node))
        finish_activity(work, token)
    elif node.kind in (NodeKind.SERVICE_TASK, NodeKind.SEND_TASK, NodeKind.BUSINESS_RULE_TASK):
        _run_handler(work, token, node)
    elif node.kind is NodeKind.SCRIPT_TASK:
        _run_script(work, token, node)
    elif node.kind is NodeKind.SUB_PROCESS:
        _arm_own_boundary_events(work, token, node)
        variables = evaluate_inputs(work, token, node) if node.inputs else {}
        opened = open_scope(work, {"element": node.id, "parent": scope, "token": token, "variables": variables})
        begin_scope(work, opened)
    elif node.kind is NodeKind.CALL_ACTIVITY:
        _arm_own_boundary_events(work, token, node)
        inputs = evaluate_inputs(work, token, node) if node.inputs else None
        if inputs is not None and node.gets_all:
            inputs = {**get_visible(work, scope), **inputs}
        called = node.called if node.called_by is None else evaluate(work, node.called_by, scope, node.id)
        call_definition(
            work, scope, token, node.id, called, kinds=("bpmn", "cmmn"), variables=inputs, revision=node.revision
        )
    else:
        finish_activity(work, token)


def finish_activity(
    work: UnitOfWork, token: str, *, inner: Sequence[CompensationEntry] = (), ended: ScopeRecord | None = None
) -> None:
    """Complete an activity and send its token on; for a plan item, complete the task."""
    if token in work.items:
        # By the queue, because `cases` imports this module.
        work.enqueue_first("finish_task", token)
        return
    work.cancel_owned(token)
    node = work.node(token)
    # Nothing else can be compensated: it has an activity that undoes it, or parts that ran in a scope of its own.
    if node.compensated_by is not None or ended is not None:
        record_completed(work, token, node, inner=inner, ended=ended)
    leave_element(work, token)


def arm_boundary_events(work: UnitOfWork, node: Node, scope: str, token: str) -> None:
    definition = work.definition(scope)
    for boundary in definition.boundaries.get(node.id, ()):
        event = definition.nodes[boundary]
        arm_event(work, event, scope, token, is_persistent=not event.is_interrupting)


def _arm_own_boundary_events(work: UnitOfWork, token: str, node: Node) -> None:
    """Arm the boundary events of a waiting activity, unless it is one round of a loop: those belong to the whole."""
    scope = work.tokens[token]["scope"]
    if "loop" not in work.scopes[scope]:
        arm_boundary_events(work, node, scope, token)


def _open_task(work: UnitOfWork, token: str, node: Node, kind: str, inputs: Variables | None = None) -> None:
    scope = work.tokens[token]["scope"]
    task: TaskRecord = {
        "element": node.id,
        "token": token,
        "scope": scope,
        "kind": kind,
        "name": node.name or node.id,
        "since": work.now,
    }
    if kind == "job":  # a Python handler, whose answer continues the chain
        task["handler"] = node.handler
        task["hops"] = work.count_hop(node.id)
        if work.generation:
            task["generation"] = work.generation
    if kind == EXTERNAL:
        task["topic"] = node.topic
    if node.retry is not None and kind in ("job", EXTERNAL):
        task["retry"] = {"tries": node.retry.tries, "pauses": list(node.retry.pauses)}
    if kind in FOR_PEOPLE:
        describe_people(work, task, node)
    if inputs is not None:
        work.budget.add_size(work.budget.measure(inputs, node.id), node.id)
        task["inputs"] = inputs
    work.add(work.tasks, task)
    if node.kind is NodeKind.RECEIVE_TASK:
        arm_event(work, node, scope, token)
    _arm_own_boundary_events(work, token, node)


def _run_handler(work: UnitOfWork, token: str, node: Node) -> None:
    """Publish the effect of a service or send task, or open a job or an external task for it."""
    handler = node.handler
    if not handler and node.event is not None and node.event.trigger is Trigger.MESSAGE:
        work.add_effect("throw", node.id, evaluate_payload(work, token, node), node.event.name)
    elif handler in IMMEDIATE:
        name = node.topic or (node.event.name if node.event is not None else "")
        work.add_effect(handler, node.id, evaluate_inputs(work, token, node), name)
    elif handler:
        # Without declared inputs a worker sees the variables as they are when it takes the task, not as they are now.
        inputs = evaluate_inputs(work, token, node) if node.inputs else None
        _open_task(work, token, node, EXTERNAL if handler == EXTERNAL else "job", inputs)
        return
    finish_activity(work, token)


def _run_script(work: UnitOfWork, token: str, node: Node) -> None:
    scope = work.tokens[token]["scope"]
    for assignment in node.assigns:
        write_variables(work, scope, {assignment.name: evaluate(work, assignment.expression, scope, node.id)}, node.id)
    finish_activity(work, token)
