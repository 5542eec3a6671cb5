"""Choose what is explained: of all that is known about a sensor around a time, the one thing that was meant. Pure.

Whoever names the very time of a signal or an event means that one. Whoever names about when means what was worth
telling: an event before what was refused, that before a signal which changed nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from config.common.times import to_milliseconds
from sensors.events import LEFT_OPEN, STATE_CHANGED
from sensors.explanation.evidence import Occurrence
from sensors.history.values import PastEvent
from sensors.ingest.signals import Signal
from sensors.models import RejectedSignal, RepeatedSignal

NEAR = timedelta(minutes=1)
"""How far from the time that was named something may lie."""
STATE, CONNECTION, OPEN = "state", "connection", "open"
"""What an event may be about; as messages, each supersedes only its own kind."""


@dataclass(frozen=True)
class Surroundings:
    """What is known of a sensor around a time."""

    events: Sequence[PastEvent] = ()
    signals: Sequence[Signal] = ()
    refusals: Sequence[RejectedSignal] = ()
    repeats: Sequence[RepeatedSignal] = ()


def choose_occurrence(found: Surroundings, at: datetime, *, about: str = "", signal_id: str = "") -> Occurrence:
    """Return what is explained; `about` and `signal_id` narrow the choice where they are given."""
    asked = to_milliseconds(at)
    events = [event for event in found.events if _is_meant(event, about, signal_id)]
    signals = [signal for signal in found.signals if signal_id in ("", signal.id) and about in ("", STATE)]
    exact_event = _nearest_event([event for event in events if event.at == asked], asked)
    exact_signal = max((signal for signal in signals if signal.at == asked), key=lambda each: each.id, default=None)
    if exact_event is not None:
        return Occurrence(event=exact_event, signal=_signal_of(exact_event, found.signals))
    if exact_signal is not None:
        return Occurrence(signal=exact_signal)
    if signal_id:
        return Occurrence()
    event = _nearest_event(events, asked)
    if event is not None:
        return Occurrence(event=event, signal=_signal_of(event, found.signals))
    if found.refusals and about in ("", STATE):
        return Occurrence(refusal=min(found.refusals, key=lambda row: abs(row.last_at - at)))
    if signals:
        return Occurrence(signal=min(signals, key=lambda signal: abs(signal.at - asked)))
    if found.repeats and about in ("", STATE):
        return Occurrence(repeat=min(found.repeats, key=lambda row: abs(row.last_at - at)))
    return Occurrence()


def family_of(event: PastEvent) -> str:
    return {STATE_CHANGED: STATE, LEFT_OPEN: OPEN}.get(event.type, CONNECTION)


def _is_meant(event: PastEvent, about: str, signal_id: str) -> bool:
    if about and family_of(event) != about:
        return False
    return not signal_id or event.payload.get("signal_id", signal_id) == signal_id


def _nearest_event(events: Sequence[PastEvent], asked: int) -> PastEvent | None:
    """Return the nearest; of two at one time the change of the state, and of two such the last."""
    return min(events, key=lambda event: (abs(event.at - asked), family_of(event) != STATE, -event.id), default=None)


def _signal_of(event: PastEvent, signals: Sequence[Signal]) -> Signal | None:
    """Return the signal that caused a change of the state."""
    signal_id = event.payload.get("signal_id")
    return next((each for each in signals if (each.at, each.id) == (event.at, signal_id)), None)
