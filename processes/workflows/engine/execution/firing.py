"""What happens when something that was waited for comes."""

from processes.workflows.engine.cases.pausing import is_deaf
from processes.workflows.engine.definition import Node, NodeKind
from processes.workflows.engine.execution.activities import finish
from processes.workflows.engine.execution.arming import rearm
from processes.workflows.engine.execution.errors import CommandFailed
from processes.workflows.engine.execution.flows import leave
from processes.workflows.engine.execution.records import (
    ConditionRecord,
    SubscriptionRecord,
    TimerRecord,
    Variables,
)
from processes.workflows.engine.execution.scopes import interrupt_activity, start_event_sub_process
from processes.workflows.engine.execution.unit_of_work import UnitOfWork
from processes.workflows.engine.execution.variables import value_of, write
from processes.workflows.engine.expressions import ExpressionFailed


def fire(
    work: UnitOfWork,
    key: str,
    record: TimerRecord | SubscriptionRecord | ConditionRecord,
    variables: Variables | None = None,
) -> None:
    """Let the event happen that a timer, a subscription or a condition waits for."""
    node = work.definition(record["scope"]).nodes[record["element"]]
    if variables:
        write(work, record["scope"], variables, node.id)
    if node.kind is NodeKind.START:
        if not node.is_interrupting:
            rearm(work, key)
        start_event_sub_process(work, record["scope"], node)
        return
    token = record["token"]
    if token is not None and token in work.items:
        work.at_once("occur", token, key)
        return
    if token is None:
        raise CommandFailed(node.id, "Nothing waits at this event.")
    if node.kind is not NodeKind.BOUNDARY:
        _catch(work, token, node)
    elif node.is_interrupting:
        interrupt_activity(work, token, node.id)
    else:
        rearm(work, key)
        work.later("enter", work.add_token(record["scope"], node.id), None)


def throw_signal(work: UnitOfWork, name: str) -> None:
    """Let a signal reach everything that waits for it now."""
    for key in [key for key in work.subscriptions.in_order() if _is_signal(work.subscriptions[key], name)]:
        record = work.subscriptions.get(key)
        if record is not None and not is_deaf(work, record):
            fire(work, key, record)


def check_conditions(work: UnitOfWork) -> None:
    """Fire the conditional events whose condition has become true."""
    for key in work.conditions.in_order():
        record = work.conditions.get(key)
        if record is None:
            continue
        does_hold = _holds_now(work, record)
        if does_hold and not record["held"]:
            fire(work, key, record)
        elif record["held"] and not does_hold:
            work.conditions.put(key, {**record, "held": False})


def _catch(work: UnitOfWork, token: str, node: Node) -> None:
    """Let a token go on that waits at the event itself or at an event-based gateway before it."""
    waits_at = work.tokens[token]["element"]
    if waits_at != node.id:
        work.trace.append(("leave", waits_at))
        work.move(token, node.id)
        work.trace.append(("enter", node.id))
    if node.kind is NodeKind.RECEIVE_TASK:
        finish(work, token)
        return
    work.clear(token)
    leave(work, token)


def _is_signal(record: SubscriptionRecord, name: str) -> bool:
    return record["kind"] == "signal" and record["name"] == name


def _holds_now(work: UnitOfWork, record: ConditionRecord) -> bool:
    event = work.definition(record["scope"]).nodes[record["element"]].event
    if event is None or event.condition is None:
        return False
    try:
        return bool(value_of(work, event.condition, record["scope"], record["element"]))
    except ExpressionFailed:
        # A condition over variables that are not there yet has no value: the event goes on waiting.
        return False
