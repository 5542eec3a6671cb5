"""Timers whose time is past."""

from collections.abc import Iterator
from datetime import datetime

from processes.workflows.engine.definition import Definition, TimerDefinition, TimerKind
from processes.workflows.engine.iso import NotIso, parse_cycle, parse_datetime
from processes.workflows.engine.lint.findings import Finding


def find_past_timers(definition: Definition, *, at: datetime) -> Iterator[Finding]:
    for node in definition.nodes.values():
        timer = node.event.timer if node.event is not None else None
        last = _find_last_time(timer) if timer is not None and timer.literal else None
        if last is not None and last < at:
            yield Finding(node.id, node.line, node.name, f"The time {last:%Y-%m-%dT%H:%M:%SZ} is in the past.")


def _find_last_time(timer: TimerDefinition) -> datetime | None:
    """Return when a timer fires for the last time; None where that depends on when it is started."""
    text = timer.literal or ""
    try:
        if timer.kind is TimerKind.DATE:
            return parse_datetime(text)
        if timer.kind is not TimerKind.CYCLE:
            return None
        cycle = parse_cycle(text)
        if cycle.start is None or cycle.count is None:
            return None
        last = cycle.start
        for _ in range(min(cycle.count - 1, _MOST_COUNTED)):
            last = cycle.interval.after(last)
        return last if cycle.count <= _MOST_COUNTED else None
    except NotIso:
        return None


_MOST_COUNTED = 1_000
