"""What history is made of: the past of signals is `Signal` itself, the past of events stands here. Times in ms."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeAlias

import msgspec

from config.common.times import format_time, from_milliseconds, to_milliseconds
from notifications.models import Event
from notifications.sending.outcomes import ATTEMPTED
from sensors.ingest.signals import Signal
from sensors.subjects import subject_of

STATE_CHANGED = "sensor.state_changed"
CONNECTION_LOST = "sensor.connection_lost"
CONNECTION_RESTORED = "sensor.connection_restored"
LOSS_WITHDRAWN = "sensor.loss_withdrawn"
KINDS = (STATE_CHANGED, CONNECTION_LOST, CONNECTION_RESTORED, LOSS_WITHDRAWN)
"""What happened to a sensor. Attempts to tell of it (`ATTEMPTED`) are kept among the events, and read by their name."""

_SECONDS = tuple(f"{second:02d}" for second in range(60))
_MILLISECONDS = tuple(f".{millisecond:03d}Z" for millisecond in range(1000))

SignalKey: TypeAlias = tuple[int, str, str]
"""Time, sensor, id: the place of a signal in every list, which runs from the greatest to the least."""
EventKey: TypeAlias = tuple[int, int]
"""Time, id: the place of an event."""


@dataclass(frozen=True)
class Period:
    """From `start` up to, not including, `end`; None is open."""

    start: int | None = None
    end: int | None = None

    def until(self, end: int) -> "Period":
        return replace(self, end=end if self.end is None else min(self.end, end))


class PastEvent(msgspec.Struct, frozen=True):
    """An event of a sensor. The id is that of the outbox row: one number for ever, so a copy is known by it."""

    id: int
    type: str
    sensor_id: str
    at: int
    recorded_at: int
    correlation_id: str
    payload: dict[str, Any]

    @property
    def key(self) -> EventKey:
        return (self.at, self.id)


class PastAttempt(msgspec.Struct, frozen=True):
    """One attempt to tell a client about a sensor, and what became of the message by it."""

    id: int
    """That of its event."""
    sensor_id: str
    at: int
    correlation_id: str
    delivery: int
    endpoint: int
    type: str
    attempt: int
    url: str
    status: int | None
    duration_ms: int
    error: str
    became: str

    @property
    def key(self) -> EventKey:
        return (self.at, self.id)


def format_milliseconds(at: int) -> str:
    """Write a time as `2026-01-31T23:59:59.000Z`; of many at once most fall into the same few minutes."""
    second, rest = divmod(at, 1000)
    return _format_second(second) + _MILLISECONDS[rest]


def format_many(times: Iterable[int]) -> list[str]:
    """Write many times at once: a call for each of them would cost more than the writing."""
    minutes: dict[int, str] = {}
    written = []
    for at in times:
        minute, rest = divmod(at, 60_000)
        begin = minutes.get(minute)
        if begin is None:
            begin = minutes[minute] = _format_minute(minute)
        second, millisecond = divmod(rest, 1000)
        written.append(begin + _SECONDS[second] + _MILLISECONDS[millisecond])
    return written


@lru_cache(maxsize=8192)
def _format_second(second: int) -> str:
    """A signal is received in the second in which it was sent, as a rule."""
    minute, rest = divmod(second, 60)
    return _format_minute(minute) + _SECONDS[rest]


@lru_cache(maxsize=4096)
def _format_minute(minute: int) -> str:
    return format_time(from_milliseconds(minute * 60_000))[:-7]


def signal_key(signal: Signal) -> SignalKey:
    return (signal.at, signal.sensor_id, signal.id)


def belongs_to_history(event: Event) -> bool:
    """Whether an event belongs to the past of a sensor; a message that lists many is no one's."""
    return event.type in KINDS or (event.type == ATTEMPTED and _about(event).startswith(subject_of("")))


def to_past_event(event: Event) -> PastEvent:
    return PastEvent(
        id=event.pk,
        type=event.type,
        sensor_id=_about(event).removeprefix(subject_of("")),
        at=to_milliseconds(event.at),
        recorded_at=to_milliseconds(event.recorded_at),
        correlation_id=event.correlation_id,
        payload=_payload(event),
    )


def to_past_attempt(event: PastEvent) -> PastAttempt:
    known = {name: event.payload[name] for name in _OF_ATTEMPT}
    return PastAttempt(event.id, event.sensor_id, event.at, event.correlation_id, **known)


_OF_ATTEMPT = ("delivery", "endpoint", "type", "attempt", "url", "status", "duration_ms", "error", "became")


def _about(event: Event) -> str:
    """Return the subject: an attempt's own is its delivery."""
    return str(event.payload.get("about", "")) if event.type == ATTEMPTED else event.subject


def _payload(event: Event) -> dict[str, Any]:
    payload: dict[str, Any] = event.payload
    if event.type != ATTEMPTED:
        return payload
    told = {name: value for name, value in payload.items() if name != "about"}
    return {**told, "delivery": int(event.subject.rpartition("/")[2])}
