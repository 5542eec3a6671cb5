"""Activities: tasks, sub-processes, call activities. Those with a loop begin in `loops`."""

from collections.abc import Sequence

from processes.workflows.engine.definition import Node, NodeKind, Trigger
from processes.workflows.engine.execution.calls import call_definition
from processes.workflows.engine.execution.compensation import record_completed
from processes.workflows.engine.execution.flows import leave_element
from processes.workflows.engine.execution.records import (
    CompensationEntry,
    ScopeRecord,
    TaskRecord,
    Variables,
)
from processes.workflows.engine.execution.scopes import begin_scope, open_scope
from processes.workflows.engine.execution.triggers import arm_boundary_events, arm_event
from processes.workflows.engine.execution.unit_of_work import UnitOfWork
from processes.workflows.engine.execution.variables import evaluate, evaluate_inputs, write_variables

IMMEDIATE = frozenset({"event", "webhook", "alert", "message"})
"""Handlers that are given their effect and not waited for."""
EXTERNAL = "external"
_WAITING = {NodeKind.USER_TASK: "user", NodeKind.MANUAL_TASK: "manual", NodeKind.RECEIVE_TASK: "receive"}


def begin_activity(work: UnitOfWork, token: str, node: Node) -> None:
    """Begin an activity, or one round of it."""
    if node.kind in _WAITING:
        _open_task(work, token, node, _WAITING[node.kind])
    elif node.kind in (NodeKind.SERVICE_TASK, NodeKind.SEND_TASK):
        _run_handler(work, token, node)
    elif node.kind is NodeKind.SCRIPT_TASK:
        _run_script(work, token, node)
    elif node.kind is NodeKind.SUB_PROCESS:
        _run_sub_process(work, token, node)
    elif node.kind is NodeKind.CALL_ACTIVITY:
        _call(work, token, node)
    else:
        finish_activity(work, token)


def finish_activity(
    work: UnitOfWork, token: str, *, inner: Sequence[CompensationEntry] = (), ended: ScopeRecord | None = None
) -> None:
    """Complete an activity: nothing of it waits any more, its token goes on; or a task of a case."""
    if token in work.items:
        work.at_once("finish_task", token)
        return
    work.clear(token)
    record_completed(work, token, work.node(token), inner=inner, ended=ended)
    leave_element(work, token)


def _arm_own_boundary_events(work: UnitOfWork, token: str, node: Node) -> None:
    """Arm the boundary events of an activity that stays; a round leaves that to the activity as a whole."""
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
    if kind == "job":
        task["handler"] = node.handler
        task["hops"] = work.hop(node.id)
    if kind == EXTERNAL:
        task["topic"] = node.topic
    if inputs is not None:
        work.allowance.grow(work.allowance.weigh(inputs, node.id), node.id)
        task["inputs"] = inputs
    work.add(work.tasks, task)
    if node.kind is NodeKind.RECEIVE_TASK:
        arm_event(work, node, scope, token)
    _arm_own_boundary_events(work, token, node)


def _run_handler(work: UnitOfWork, token: str, node: Node) -> None:
    handler = node.handler
    if not handler and node.event is not None and node.event.trigger is Trigger.MESSAGE:
        work.give("throw", node.id, evaluate_inputs(work, token, node), node.event.name)
    elif handler in IMMEDIATE:
        name = node.topic or (node.event.name if node.event is not None else "")
        work.give(handler, node.id, evaluate_inputs(work, token, node), name)
    elif handler:
        # Without inputs of its own the work is given the variables as they are when it is taken up.
        inputs = evaluate_inputs(work, token, node) if node.inputs else None
        _open_task(work, token, node, EXTERNAL if handler == EXTERNAL else "job", inputs)
        return
    finish_activity(work, token)


def _run_script(work: UnitOfWork, token: str, node: Node) -> None:
    scope = work.tokens[token]["scope"]
    for assignment in node.assigns:
        write_variables(work, scope, {assignment.name: evaluate(work, assignment.expression, scope, node.id)}, node.id)
    finish_activity(work, token)


def _run_sub_process(work: UnitOfWork, token: str, node: Node) -> None:
    parent = work.tokens[token]["scope"]
    _arm_own_boundary_events(work, token, node)
    begin_scope(work, open_scope(work, {"element": node.id, "parent": parent, "token": token, "variables": {}}))


def _call(work: UnitOfWork, token: str, node: Node) -> None:
    """Run another process, or a case, inside this state."""
    _arm_own_boundary_events(work, token, node)
    call_definition(work, work.tokens[token]["scope"], token, node.id, node.called, kinds=("bpmn", "cmmn"))
