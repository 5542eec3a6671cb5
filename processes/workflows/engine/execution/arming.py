"""What waits for something outside: timers, subscriptions and conditions."""

from processes.workflows.engine.definition import Node, Trigger
from processes.workflows.engine.execution.records import ConditionRecord, SubscriptionRecord
from processes.workflows.engine.execution.timers import repeat_timer, start_timer
from processes.workflows.engine.execution.unit_of_work import UnitOfWork


def arm(work: UnitOfWork, node: Node, scope: str, token: str | None, *, is_persistent: bool = False) -> None:
    """Let an event wait for what triggers it. Errors and compensation find their handlers by themselves."""
    event = node.event
    if event is None:
        return
    if event.trigger is Trigger.TIMER and event.timer is not None:
        start_timer(work, node, event.timer, scope, token)
    elif event.trigger in (Trigger.MESSAGE, Trigger.SIGNAL):
        subscription: SubscriptionRecord = {
            "element": node.id,
            "token": token,
            "scope": scope,
            "kind": event.trigger.value,
            "name": event.name,
            "is_persistent": is_persistent,
        }
        work.add(work.subscriptions, subscription)
    elif event.trigger is Trigger.CONDITION:
        condition: ConditionRecord = {
            "element": node.id,
            "token": token,
            "scope": scope,
            "is_persistent": is_persistent,
            "held": False,
        }
        work.add(work.conditions, condition)
        work.is_changed = True


def arm_boundaries(work: UnitOfWork, node: Node, scope: str, token: str) -> None:
    definition = work.definition(scope)
    for boundary in definition.boundaries.get(node.id, ()):
        event = definition.nodes[boundary]
        arm(work, event, scope, token, is_persistent=not event.is_interrupting)


def arm_event_sub_processes(work: UnitOfWork, element: str, scope: str) -> None:
    definition = work.definition(scope)
    for sub_process in definition.event_sub_processes.get(element, ()):
        for start in definition.starts.get(sub_process, ()):
            event = definition.nodes[start]
            arm(work, event, scope, None, is_persistent=not event.is_interrupting)


def rearm(work: UnitOfWork, key: str) -> None:
    """Let an event that fired without interrupting wait for its next time, if there is one."""
    if key in work.timers:
        repeat_timer(work, key)
    elif key in work.conditions:
        work.conditions.put(key, {**work.conditions[key], "held": True})
