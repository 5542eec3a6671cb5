"""When timers are due."""

from datetime import datetime, timedelta

from processes.workflows.engine.definition import Node, TimerDefinition, TimerKind
from processes.workflows.engine.execution.errors import CommandFailed
from processes.workflows.engine.execution.limits import LEAST_WAIT, LONG_WAIT
from processes.workflows.engine.execution.records import TimerRecord
from processes.workflows.engine.execution.unit_of_work import UnitOfWork
from processes.workflows.engine.execution.variables import evaluate
from processes.workflows.engine.iso import (
    Cycle,
    Duration,
    NotIso,
    parse_cycle,
    parse_datetime,
    parse_duration,
)


def start_timer(work: UnitOfWork, node: Node, timer: TimerDefinition, scope: str, token: str | None) -> None:
    value = timer.literal
    if timer.expression is not None:
        value = evaluate(work, timer.expression, scope, node.id)
    try:
        due, cycle = _due(timer.kind, value, work.at)
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
    hops = _hops(work, node.id, (due - work.at).total_seconds())
    if hops:
        record["hops"] = hops
    if cycle is not None:
        record["interval"] = cycle.text
        if cycle.count is not None:
            record["left"] = cycle.count - 1
    work.add(work.timers, record)


def repeat_timer(work: UnitOfWork, timer: str) -> None:
    """Put the next firing of a cycle in the place of the one that fired; without one, the timer is gone.

    Moments that passed while nobody could fire it are left out: it goes on at the next one of its own rhythm.
    """
    following = next_of_cycle(work, work.drop(work.timers, timer))
    if following is not None:
        work.add(work.timers, following)


def next_of_cycle(work: UnitOfWork, record: TimerRecord) -> TimerRecord | None:
    left = record.get("left")
    if "interval" not in record or left == 0:
        return None
    try:
        due = _next(datetime.fromisoformat(record["due"]), parse_duration(record["interval"]), work.at)
    except NotIso:  # beyond the year 9999: never
        return None
    following: TimerRecord = {**record, "due": due.isoformat(), "since": work.now}
    if left is not None:
        following["left"] = left - 1
    return following


def _hops(work: UnitOfWork, element: str, wait: float) -> int:
    """Return how long the chain is after a timer: one that hardly waits is a hop, one that waits long ends it."""
    if wait < LEAST_WAIT:
        return work.hop(element)
    return work.hops if wait < LONG_WAIT else 0


def _due(kind: TimerKind, value: object, now: datetime) -> tuple[datetime, Cycle | None]:
    if kind is TimerKind.DATE:
        return parse_datetime(_text(value)), None
    if kind is TimerKind.CYCLE:
        cycle = parse_cycle(_text(value))
        return cycle.first(now), cycle
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _seconds(value).after(now), None
    return parse_duration(_text(value)).after(now), None


def _seconds(value: float) -> Duration:
    try:
        return Duration(rest=timedelta(seconds=max(value, 0)))
    except OverflowError as error:
        raise NotIso("The duration leads beyond the year 9999.") from error


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise NotIso("The timer's expression does not give a text of ISO 8601.")
    return value


def _next(due: datetime, interval: Duration, now: datetime) -> datetime:
    """Give the first moment of the rhythm after now."""
    following = interval.after(due)
    if following > now or interval.months:
        while following <= now:
            following = interval.after(following)
        return following
    missed = (now - following) // interval.rest + 1
    return Duration(rest=interval.rest * missed).after(following)
