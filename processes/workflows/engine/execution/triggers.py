"""Triggers of events: timers, subscriptions and conditions are armed, and timers find their due times."""

from datetime import datetime, timedelta

from processes.workflows.engine.definition import Node, TimerDefinition, TimerKind, Trigger
from processes.workflows.engine.execution.errors import CommandFailed
from processes.workflows.engine.execution.limits import LEAST_WAIT, LONG_WAIT
from processes.workflows.engine.execution.records import ConditionRecord, SubscriptionRecord, TimerRecord
from processes.workflows.engine.execution.unit_of_work import UnitOfWork
from processes.workflows.engine.execution.variables import evaluate
from processes.workflows.engine.iso import (
    Calendar,
    Cycle,
    Duration,
    NotIso,
    parse_cycle,
    parse_datetime,
    parse_duration,
    parse_interval,
)


def arm_event(work: UnitOfWork, node: Node, scope: str, token: str | None, *, is_persistent: bool = False) -> None:
    """Add the timer, subscription or condition of an event. Errors and compensation look up their handlers instead."""
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
        work.conditions_due = True


def rearm_event(work: UnitOfWork, key: str) -> None:
    """Keep a non-interrupting event armed: restart its timer cycle, or wait until its condition turns false."""
    if key in work.timers:
        repeat_timer(work, key)
    elif key in work.conditions:
        work.conditions.put(key, {**work.conditions[key], "held": True})


def start_timer(work: UnitOfWork, node: Node, timer: TimerDefinition, scope: str, token: str | None) -> None:
    value = timer.literal
    if timer.expression is not None:
        value = evaluate(work, timer.expression, scope, node.id)
    try:
        due, cycle = _find_due_time(timer.kind, value, work.at)
    except NotIso as error:
        raise CommandFailed(node.id, str(error)) from error
    record: TimerRecord = {
        "element": node.id,
        "token": token,
        "scope": scope,
        "kind": timer.kind.value,
        "due": due.isoformat(),
        "since": work.now,
    }
    # Counted when it is armed: a process that only arms timers without a wait would never end.
    hops = _count_hops(work, node.id, (due - work.at).total_seconds())
    if hops:
        record["hops"] = hops
    if work.generation:
        record["generation"] = work.generation
    if cycle is not None:
        record["interval"] = cycle.text
        if cycle.count is not None:
            record["left"] = cycle.count - 1
    work.add(work.timers, record)


def repeat_timer(work: UnitOfWork, timer: str) -> None:
    """Replace a fired timer with the next firing of its cycle, if there is one.

    Firings missed while nothing ran are skipped: it continues at the next time of its own rhythm.
    """
    following = find_next_firing(work, work.remove(work.timers, timer))
    if following is not None:
        work.add(work.timers, following)


def find_next_firing(work: UnitOfWork, record: TimerRecord) -> TimerRecord | None:
    left = record.get("left")
    if "interval" not in record or left == 0:
        return None
    try:
        due = find_next_time(datetime.fromisoformat(record["due"]), parse_interval(record["interval"]), work.at)
    except NotIso:  # beyond the year 9999: never
        return None
    following: TimerRecord = {**record, "due": due.isoformat(), "since": work.now}
    if left is not None:
        following["left"] = left - 1
    return following


def _count_hops(work: UnitOfWork, element: str, wait: float) -> int:
    """Return the length of the chain after a timer: one that hardly waits is a hop, one that waits long resets it."""
    if wait < LEAST_WAIT:
        return work.count_hop(element)
    return work.hops if wait < LONG_WAIT else 0


def _find_due_time(kind: TimerKind, value: object, now: datetime) -> tuple[datetime, Cycle | None]:
    if kind is TimerKind.DATE:
        return parse_datetime(_require_text(value)), None
    if kind is TimerKind.CYCLE:
        cycle = parse_cycle(_require_text(value))
        return cycle.first(now), cycle
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _duration_of_seconds(value).after(now), None
    return parse_duration(_require_text(value)).after(now), None


def _duration_of_seconds(value: float) -> Duration:
    try:
        return Duration(rest=timedelta(seconds=max(value, 0)))
    except OverflowError as error:
        raise NotIso("The duration leads beyond the year 9999.") from error


def _require_text(value: object) -> str:
    if not isinstance(value, str):
        raise NotIso("The timer's expression does not return a text in ISO 8601.")
    return value


def find_next_time(due: datetime, interval: Duration | Calendar, now: datetime) -> datetime:
    """Return the first time of a cycle after now: missed times are not made up for."""
    if isinstance(interval, Calendar):
        return interval.after(max(due, now))
    following = interval.after(due)
    # Months have no fixed length and are stepped; anything else is computed, for millions of firings may be missed.
    if following > now or interval.months:
        while following <= now:
            following = interval.after(following)
        return following
    missed = (now - following) // interval.rest + 1
    return Duration(rest=interval.rest * missed).after(following)
