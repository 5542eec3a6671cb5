"""Events: entered by a token, fired by their trigger, thrown as signals, or raised outwards as errors."""

from collections.abc import Iterable

from processes.workflows.engine.cases.transitions import is_subscription_suspended
from processes.workflows.engine.definition import BpmnEvent, Definition, Node, NodeKind, Trigger
from processes.workflows.engine.execution.activities import finish_activity
from processes.workflows.engine.execution.compensation import compensate
from processes.workflows.engine.execution.errors import CommandFailed
from processes.workflows.engine.execution.flows import is_flow_over, leave_element
from processes.workflows.engine.execution.records import (
    ConditionRecord,
    SubscriptionRecord,
    TimerRecord,
    Variables,
)
from processes.workflows.engine.execution.scopes import interrupt_activity, start_event_sub_process
from processes.workflows.engine.execution.triggers import arm_event, rearm_event
from processes.workflows.engine.execution.unit_of_work import UnitOfWork
from processes.workflows.engine.execution.variables import evaluate_payload, try_evaluate, write_variables
from processes.workflows.engine.execution.visits import note_entry
from processes.workflows.engine.expressions import ExpressionFailed


def pass_event(work: UnitOfWork, token: str, node: Node, flow: str | None) -> None:
    """Leave a start or boundary event: it was entered because its trigger has fired."""
    leave_element(work, token)


def enter_catch(work: UnitOfWork, token: str, node: Node, flow: str | None) -> None:
    if node.trigger is Trigger.NONE:
        leave_element(work, token)
    else:
        arm_event(work, node, work.tokens[token]["scope"], token)


def enter_event_gateway(work: UnitOfWork, token: str, node: Node, flow: str | None) -> None:
    """Arm every event behind the gateway; the first one that fires takes the token."""
    scope = work.tokens[token]["scope"]
    definition = work.definition(scope)
    for outgoing in node.outgoing:
        arm_event(work, definition.nodes[definition.flows[outgoing].target], scope, token)


def enter_throw(work: UnitOfWork, token: str, node: Node, flow: str | None) -> None:
    """Throw the event of an end or an intermediate throw event."""
    event = node.event
    if event is None or event.trigger is Trigger.NONE:
        leave_element(work, token)
    elif event.trigger is Trigger.COMPENSATION:
        compensate(work, token, event.name)
    elif event.trigger is Trigger.TERMINATE:
        _terminate_scope(work, token)
    elif event.trigger is Trigger.ESCALATION:
        _escalate(work, token, event.name)
    elif event.trigger is Trigger.CANCEL:
        _begin_cancelling(work, token)
    elif event.trigger is Trigger.ERROR:
        work.trace.append(("leave", node.id))
        raise_in_scope(work, work.remove_token(token)["scope"], event.name, origin=node.id)
    else:
        _throw(work, token, node, event)


def _throw(work: UnitOfWork, token: str, node: Node, event: BpmnEvent) -> None:
    inputs = evaluate_payload(work, token, node)
    if event.trigger is Trigger.SIGNAL:
        throw_signal(work, event.name, inputs)
        work.add_effect("signal", node.id, inputs, event.name)
    else:
        work.add_effect("throw", node.id, inputs, event.name)
    if token in work.tokens:  # a boundary event that hears the signal may have interrupted its thrower
        leave_element(work, token)


def _terminate_scope(work: UnitOfWork, token: str) -> None:
    """End the scope at once, with everything that still runs in it."""
    work.trace.append(("leave", work.tokens[token]["element"]))
    scope = work.remove_token(token)["scope"]
    work.cancel_owned(scope)
    work.enqueue_first("terminate", scope)


def _escalate(work: UnitOfWork, token: str, code: str) -> None:
    """Raise an escalation outwards to the nearest event that catches it; one that nobody catches is over."""
    scope: str | None = work.tokens[token]["scope"]
    while scope is not None:
        start = _find_event_sub_process(work, scope, code, Trigger.ESCALATION)
        if start is not None:
            start_event_sub_process(work, scope, start)
            break
        owner = work.scopes[scope]["token"]
        if owner is None or owner in work.items:
            break
        outer = work.tokens[owner]
        boundary = _find_boundary_event(work, outer["scope"], outer["element"], code, Trigger.ESCALATION)
        if boundary is not None:
            if boundary.is_interrupting:
                interrupt_activity(work, owner, boundary.id)
            else:
                work.enqueue("enter", work.add_token(outer["scope"], boundary.id), None)
            break
        scope = outer["scope"]
    if token in work.tokens:
        leave_element(work, token)


def _begin_cancelling(work: UnitOfWork, token: str) -> None:
    """Cancel what still runs in a transaction and undo what is done in it."""
    scope = work.tokens[token]["scope"]
    for other in work.tokens_of(scope):
        if other != token:
            work.cancel_owned(other)
            work.trace.append(("cancel", work.remove_token(other)["element"]))
    compensate(work, token, "")


def cancel_transaction(work: UnitOfWork, token: str) -> None:
    """Continue at the cancel event of a transaction whose parts are undone; without one, behind it."""
    if token not in work.tokens:
        return
    work.trace.append(("leave", work.tokens[token]["element"]))
    scope = work.remove_token(token)["scope"]
    owner = work.scopes[scope]["token"]
    if owner is not None and owner not in work.items:
        outer = work.tokens[owner]
        boundary = _find_boundary_event(work, outer["scope"], outer["element"], "", Trigger.CANCEL)
        if boundary is not None:
            interrupt_activity(work, owner, boundary.id)
            return
    work.cancel_owned(scope)
    work.enqueue_first("terminate", scope)


def fire_event(
    work: UnitOfWork,
    key: str,
    record: TimerRecord | SubscriptionRecord | ConditionRecord,
    variables: Variables | None = None,
) -> None:
    """Fire the event that a timer, a subscription or a condition was armed for."""
    node = work.definition(record["scope"]).nodes[record["element"]]
    if variables:
        write_variables(work, record["scope"], variables, node.id)
    if node.kind is NodeKind.START:
        if key not in work.conditions and is_flow_over(work, record["scope"]):
            # An earlier release kept it armed until the whole scope had ended.
            work.disarm(record["scope"])
            return
        if not node.is_interrupting:
            rearm_event(work, key)
        start_event_sub_process(work, record["scope"], node)
        return
    token = record["token"]
    if token is not None and token in work.items:
        work.enqueue_first("occur", token, key)
        return
    if token is None:
        raise CommandFailed(node.id, "Nothing waits at this event.")
    if node.kind is not NodeKind.BOUNDARY:
        _continue_at_event(work, token, node)
    elif node.is_interrupting:
        interrupt_activity(work, token, node.id)
    else:
        rearm_event(work, key)
        work.enqueue("enter", work.add_token(record["scope"], node.id), None)


def throw_signal(work: UnitOfWork, name: str, variables: Variables) -> None:
    """Fire every event in this state that waits for a signal; each takes the variables that the signal carries."""
    for key in work.subscriptions.keys_in_order():
        # One event may cancel what another waits in, and what it arms itself does not hear this signal.
        record = work.subscriptions.get(key)
        is_awaited = record is not None and record["kind"] == "signal" and record["name"] == name
        if record is not None and is_awaited and not is_subscription_suspended(work, record):
            fire_event(work, key, record, variables)


def fire_true_conditions(work: UnitOfWork) -> None:
    """Fire the conditional events whose condition has become true."""
    for key in work.conditions.keys_in_order():
        record = work.conditions.get(key)
        if record is None:  # an event fired before it has cancelled what it waited in
            continue
        does_hold = _holds_now(work, record)
        if does_hold and not record["held"]:
            fire_event(work, key, record)
        elif record["held"] and not does_hold:
            work.conditions.put(key, {**record, "held": False})


def _continue_at_event(work: UnitOfWork, token: str, node: Node) -> None:
    """Send on a token that waits at the event itself or at an event-based gateway before it."""
    record = work.tokens[token]
    waits_at = record["element"]
    if waits_at != node.id:
        work.trace.append(("leave", waits_at))
        work.move_token(token, node.id)
        note_entry(work, record["scope"], node.id)
    if node.kind is NodeKind.RECEIVE_TASK:
        finish_activity(work, token)
        return
    work.cancel_owned(token)
    leave_element(work, token)


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
    """Raise an error at an activity: its own boundary events are asked first. A plan item fails with it."""
    if token in work.items:
        work.enqueue_first("fail_task", token)
        return
    record = work.tokens[token]
    if not _is_caught_at(work, token, code, reason):
        raise_in_scope(work, record["scope"], code, origin=record["element"], reason=reason)


def raise_in_scope(work: UnitOfWork, scope: str, code: str, *, origin: str, reason: str = "") -> None:
    """Raise an error outwards, up to the nearest event sub-process or boundary event that catches it."""
    while True:
        start = _find_event_sub_process(work, scope, code)
        if start is not None:
            _write_caught(work, scope, start, code, reason)
            start_event_sub_process(work, scope, start)
            return
        token = work.scopes[scope]["token"]
        if token is None:
            if reason in ("", code):
                raise CommandFailed(origin, f"Nothing catches the error {code}.")
            raise CommandFailed(origin, f"Nothing catches the error {code}: {reason}")
        if token in work.items:
            work.enqueue_first("fail_task", token)
            return
        if _is_caught_at(work, token, code, reason):
            return
        scope = work.tokens[token]["scope"]


def _write_caught(work: UnitOfWork, scope: str, catcher: Node, code: str, reason: str) -> None:
    """Write an error into the variables that the event which catches it names."""
    event = catcher.event
    if event is not None and event.code_variable:
        write_variables(work, scope, {event.code_variable: code}, catcher.id)
    if event is not None and event.message_variable:
        write_variables(work, scope, {event.message_variable: reason or None}, catcher.id)


def _is_caught_at(work: UnitOfWork, token: str, code: str, reason: str) -> bool:
    record = work.tokens[token]
    boundary = _find_boundary_event(work, record["scope"], record["element"], code)
    if boundary is not None:
        _write_caught(work, record["scope"], boundary, code, reason)
        interrupt_activity(work, token, boundary.id)
    return boundary is not None


def _find_boundary_event(
    work: UnitOfWork, scope: str, element: str, code: str, trigger: Trigger = Trigger.ERROR
) -> Node | None:
    if "loop" in work.scopes[scope]:
        return None  # boundary events belong to the activity as a whole, not to one of its rounds
    definition = work.definition(scope)
    return _find_matching(definition, definition.boundaries.get(element, ()), code, trigger)


def _find_event_sub_process(work: UnitOfWork, scope: str, code: str, trigger: Trigger = Trigger.ERROR) -> Node | None:
    record = work.scopes[scope]
    if record.get("wraps") or record.get("interrupted"):
        return None
    if trigger is Trigger.ESCALATION and is_flow_over(work, scope):
        return None
    definition = work.definition(scope)
    sub_processes = definition.event_sub_processes.get(record["element"], ())
    starts = [start for sub_process in sub_processes for start in definition.starts.get(sub_process, ())]
    return _find_matching(definition, starts, code, trigger)


def _find_matching(definition: Definition, events: Iterable[str], code: str, trigger: Trigger) -> Node | None:
    """Return the event that catches this code, else the first that catches any."""
    catches_any = None
    for event in events:
        node = definition.nodes[event]
        if node.event is None or node.event.trigger is not trigger:
            continue
        if node.event.name == code:
            return node
        if node.event.name == "" and catches_any is None:
            catches_any = node
    return catches_any
