"""Timers: literals of ISO 8601, checked here, or expressions that give one at run time."""

import re
from collections.abc import Callable
from datetime import UTC, datetime

from processes.workflows.engine.bpmn.file import Subject, quote
from processes.workflows.engine.bpmn.xml import XmlElement
from processes.workflows.engine.cron import is_cron
from processes.workflows.engine.definition import TimerDefinition, TimerKind
from processes.workflows.engine.iso import NotIso, parse_cycle, parse_datetime, parse_duration


def read_timer(subject: Subject, definition: XmlElement) -> TimerDefinition | None:
    timers = [(child, _KINDS[child.name]) for child in definition.children if child.name in _KINDS and child.text]
    if len(timers) != 1:
        subject.refuse("A timer has one of timeDate, timeDuration and timeCycle.", definition)
        return None
    child, kind = timers[0]
    return read_timer_text(subject, kind, child.text, child)


def read_timer_text(subject: Subject, kind: TimerKind, text: str, at: XmlElement) -> TimerDefinition:
    if not is_literal(text):
        return TimerDefinition(kind, expression=subject.compile(text, at))
    try:
        _PARSERS[kind](text)
    except NotIso as error:
        subject.refuse(f"The timer cannot be read, {quote(text)}: {error}", at)
    return TimerDefinition(kind, literal=text)


def is_literal(text: str) -> bool:
    """Return whether a text begins like a duration, a cycle or a date: as an expression it would fail at run time."""
    return _LITERAL.match(text) is not None or is_cron(text)


def find_literal_kind(text: str) -> TimerKind | None:
    """Return the kind of a literal by its form; None for an expression."""
    if not is_literal(text):
        return None
    if text.lstrip("+-").startswith("P"):
        return TimerKind.DURATION
    return TimerKind.CYCLE if text.startswith("R") or is_cron(text) else TimerKind.DATE


_KINDS = {"timeDate": TimerKind.DATE, "timeDuration": TimerKind.DURATION, "timeCycle": TimerKind.CYCLE}
_LATE = datetime(2100, 1, 1, tzinfo=UTC)
"""Counted from here, a timer must still be due within the calendar."""
_PARSERS: dict[TimerKind, Callable[[str], object]] = {
    TimerKind.DATE: parse_datetime,
    TimerKind.DURATION: lambda text: parse_duration(text).after(_LATE),
    TimerKind.CYCLE: lambda text: parse_cycle(text).first(_LATE),
}
_LITERAL = re.compile(r"[-+]?P(?:T?\d|T?$)|R\d*/|R\d*$|\d{4}-|\d{8}T", re.ASCII)
