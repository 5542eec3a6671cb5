"""Events in the flow: starts, ends, intermediate ones; and the gateway that waits for the first of several."""

from collections.abc import Iterable

from processes.workflows.engine.cases.transitions import is_subscription_suspended
from processes.workflows.engine.definition import BpmnEvent, Definition, Node, NodeKind, Trigger
from processes.workflows.engine.execution.activities import finish_activity
from processes.workflows.engine.execution.compensation import compensate
from processes.workflows.engine.execution.errors import CommandFailed
from processes.workflows.engine.execution.flows import leave_element
from processes.workflows.engine.execution.records import (
    ConditionRecord,
    SubscriptionRecord,
    TimerRecord,
    Variables,
)
from processes.workflows.engine.execution.scopes import interrupt_activity, start_event_sub_process
from processes.workflows.engine.execution.triggers import arm_event, rearm_event
from processes.workflows.engine.execution.unit_of_work import UnitOfWork
from processes.workflows.engine.execution.variables import evaluate_inputs, try_evaluate, write_variables
from processes.workflows.engine.expressions import ExpressionFailed


def pass_event(work: UnitOfWork, token: str, node: Node, flow: str | None) -> None:
    """Go on from a start or boundary event: what it waits for has come already."""
    leave_element(work, token)


def enter_catch(work: UnitOfWork, token: str, node: Node, flow: str | None) -> None:
    if node.event is None or node.event.trigger is Trigger.NONE:
        leave_element(work, token)
        return
    arm_event(work, node, work.tokens[token]["scope"], token)


def enter_event_gateway(work: UnitOfWork, token: str, node: Node, flow: str | None) -> None:
    """Wait at every event behind the gateway; the first one that comes takes the token."""
    scope = work.tokens[token]["scope"]
    definition = work.definition(scope)
    for outgoing in node.outgoing:
        arm_event(work, definition.nodes[definition.flows[outgoing].target], scope, token)


def enter_throw(work: UnitOfWork, token: str, node: Node, flow: str | None) -> None:
    """Do what an end or an intermediate throw event does."""
    event = node.event
    trigger = event.trigger if event is not None else Trigger.NONE
    if event is None or trigger is Trigger.NONE:
        leave_element(work, token)
    elif trigger is Trigger.COMPENSATION:
        compensate(work, token, event.name)
    elif trigger is Trigger.TERMINATE:
        _terminate_scope(work, token)
    elif trigger is Trigger.ERROR:
        _throw_error(work, token, event)
    else:
        _throw(work, token, node, event)


def _throw(work: UnitOfWork, token: str, node: Node, event: BpmnEvent) -> None:
    inputs = evaluate_inputs(work, token, node)
    if event.trigger is Trigger.SIGNAL:
        throw_signal(work, event.name)
        work.give("signal", node.id, inputs, event.name)
    else:
        work.give("throw", node.id, inputs, event.name)
    if token in work.tokens:  # the signal may have interrupted the one who threw it
        leave_element(work, token)


def _throw_error(work: UnitOfWork, token: str, event: BpmnEvent) -> None:
    work.trace.append(("leave", work.tokens[token]["element"]))
    record = work.drop_token(token)
    raise_in_scope(work, record["scope"], event.name, origin=record["element"])


def _terminate_scope(work: UnitOfWork, token: str) -> None:
    """End the scope at once, with everything that still runs in it."""
    work.trace.append(("leave", work.tokens[token]["element"]))
    scope = work.drop_token(token)["scope"]
    work.clear(scope)
    work.at_once("terminate", scope)


def fire_event(
    work: UnitOfWork,
    key: str,
    record: TimerRecord | SubscriptionRecord | ConditionRecord,
    variables: Variables | None = None,
) -> None:
    """Let the event happen that a timer, a subscription or a condition waits for."""
    node = work.definition(record["scope"]).nodes[record["element"]]
    if variables:
        write_variables(work, record["scope"], variables, node.id)
    if node.kind is NodeKind.START:
        if not node.is_interrupting:
            rearm_event(work, key)
        start_event_sub_process(work, record["scope"], node)
        return
    token = record["token"]
    if token is not None and token in work.items:
        work.at_once("occur", token, key)
        return
    if token is None:
        raise CommandFailed(node.id, "Nothing waits at this event.")
    if node.kind is not NodeKind.BOUNDARY:
        _continue_at_event(work, token, node)
    elif node.is_interrupting:
        interrupt_activity(work, token, node.id)
    else:
        rearm_event(work, key)
        work.later("enter", work.add_token(record["scope"], node.id), None)


def throw_signal(work: UnitOfWork, name: str) -> None:
    """Let a signal reach everything that waits for it now."""
    for key in [key for key in work.subscriptions.in_order() if _is_signal(work.subscriptions[key], name)]:
        record = work.subscriptions.get(key)
        if record is not None and not is_subscription_suspended(work, record):
            fire_event(work, key, record)


def fire_true_conditions(work: UnitOfWork) -> None:
    """Fire the conditional events whose condition has become true."""
    for key in work.conditions.in_order():
        record = work.conditions.get(key)
        if record is None:
            continue
        does_hold = _holds_now(work, record)
        if does_hold and not record["held"]:
            fire_event(work, key, record)
        elif record["held"] and not does_hold:
            work.conditions.put(key, {**record, "held": False})


def _continue_at_event(work: UnitOfWork, token: str, node: Node) -> None:
    """Let a token go on that waits at the event itself or at an event-based gateway before it."""
    waits_at = work.tokens[token]["element"]
    if waits_at != node.id:
        work.trace.append(("leave", waits_at))
        work.move(token, node.id)
        work.trace.append(("enter", node.id))
    if node.kind is NodeKind.RECEIVE_TASK:
        finish_activity(work, token)
        return
    work.clear(token)
    leave_element(work, token)


def _is_signal(record: SubscriptionRecord, name: str) -> bool:
    return record["kind"] == "signal" and record["name"] == name


def _holds_now(work: UnitOfWork, record: ConditionRecord) -> bool:
    event = work.definition(record["scope"]).nodes[record["element"]].event
    if event is None or event.condition is None:
        return False
    try:
        return bool(try_evaluate(work, event.condition, record["scope"], record["element"]))
    except ExpressionFailed:
        # A condition over variables that are not there yet has no value: the event goes on waiting.
        return False


def raise_error(work: UnitOfWork, token: str, code: str, reason: str) -> None:
    """Raise an error at an activity: its own boundary events are asked first."""
    record = work.tokens[token]
    if not _is_caught_at(work, token, code):
        raise_in_scope(work, record["scope"], code, origin=record["element"], reason=reason)


def raise_in_scope(work: UnitOfWork, scope: str, code: str, *, origin: str, reason: str = "") -> None:
    """Hand an error to the nearest event sub-process or boundary event that catches it."""
    while True:
        start = _find_event_sub_process(work, scope, code)
        if start is not None:
            start_event_sub_process(work, scope, start)
            return
        token = work.scopes[scope]["token"]
        if token is None:
            raise CommandFailed(origin, reason or f"Nothing catches the error {code}.")
        if token in work.items:
            work.at_once("fail_task", token)
            return
        if _is_caught_at(work, token, code):
            return
        scope = work.tokens[token]["scope"]


def _is_caught_at(work: UnitOfWork, token: str, code: str) -> bool:
    record = work.tokens[token]
    boundary = _find_boundary_event(work, record["scope"], record["element"], code)
    if boundary is not None:
        interrupt_activity(work, token, boundary.id)
    return boundary is not None


def _find_boundary_event(work: UnitOfWork, scope: str, element: str, code: str) -> Node | None:
    if "loop" in work.scopes[scope]:
        return None  # boundary events belong to the activity as a whole, not to one of its rounds
    definition = work.definition(scope)
    return _find_matching_error(definition, definition.boundaries.get(element, ()), code)


def _find_event_sub_process(work: UnitOfWork, scope: str, code: str) -> Node | None:
    record = work.scopes[scope]
    if record.get("wraps") or record.get("interrupted"):
        return None
    definition = work.definition(scope)
    sub_processes = definition.event_sub_processes.get(record["element"], ())
    starts = [start for sub_process in sub_processes for start in definition.starts.get(sub_process, ())]
    return _find_matching_error(definition, starts, code)


def _find_matching_error(definition: Definition, events: Iterable[str], code: str) -> Node | None:
    """Give the event that catches this very error, else one that catches any."""
    catches_any = None
    for event in events:
        node = definition.nodes[event]
        if node.event is None or node.event.trigger is not Trigger.ERROR:
            continue
        if node.event.name == code:
            return node
        if node.event.name == "" and catches_any is None:
            catches_any = node
    return catches_any
