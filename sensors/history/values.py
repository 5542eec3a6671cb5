"""The values that history stores: signals are `Signal` itself, events and attempts stand here. Times in ms."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeAlias

import msgspec

from config.common.times import format_time, from_milliseconds, to_milliseconds
from notifications.models import Event
from notifications.sending.outcomes import ATTEMPTED
from sensors.events import EVENT_TYPES
from sensors.ingest.signals import Signal
from sensors.subjects import find_sensor_id

_SECONDS = tuple(f"{second:02d}" for second in range(60))
_MILLISECONDS = tuple(f".{millisecond:03d}Z" for millisecond in range(1000))

SignalKey: TypeAlias = tuple[int, str, str]
"""Time, sensor, id of a signal: lists run from the greatest key to the least."""
EventKey: TypeAlias = tuple[int, int]
"""Time, id of an event."""


@dataclass(frozen=True)
class ClientSensors:
    """The sensors that a client has now; there may be a hundred thousand, so a store joins them where the rows are."""

    client_id: int


Sensors: TypeAlias = Sequence[str] | ClientSensors


@dataclass(frozen=True)
class Period:
    """From `start` up to, not including, `end`; None is open."""

    start: int | None = None
    end: int | None = None

    def until(self, end: int) -> "Period":
        return replace(self, end=end if self.end is None else min(self.end, end))


class PastEvent(msgspec.Struct, frozen=True):
    """An event of a sensor. Its id is that of the outbox row, which is never used again: a copy is known by it."""

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
    """One attempt of a delivery about a sensor, and the outcome."""

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
    """Return a time as `2026-01-31T23:59:59.000Z`; of many at once most fall into the same few minutes."""
    second, rest = divmod(at, 1000)
    return _format_second(second) + _MILLISECONDS[rest]


def format_many(times: Iterable[int]) -> list[str]:
    """Return many times as text: a call for each of them would cost more than the formatting."""
    minutes: dict[int, str] = {}
    texts = []
    for at in times:
        minute, rest = divmod(at, 60_000)
        begin = minutes.get(minute)
        if begin is None:
            begin = minutes[minute] = _format_minute(minute)
        second, millisecond = divmod(rest, 1000)
        texts.append(begin + _SECONDS[second] + _MILLISECONDS[millisecond])
    return texts


@lru_cache(maxsize=8192)
def _format_second(second: int) -> str:
    # As a rule a signal is received in the second in which it was sent.
    minute, rest = divmod(second, 60)
    return _format_minute(minute) + _SECONDS[rest]


@lru_cache(maxsize=4096)
def _format_minute(minute: int) -> str:
    return format_time(from_milliseconds(minute * 60_000))[:-7]


def signal_key(signal: Signal) -> SignalKey:
    return (signal.at, signal.sensor_id, signal.id)


def belongs_to_history(event: Event) -> bool:
    """Return whether history stores an event; the attempt of a list is not about one sensor, and is left out."""
    return event.type in EVENT_TYPES or (event.type == ATTEMPTED and find_sensor_id(_about(event)) is not None)


def to_past_event(event: Event) -> PastEvent:
    return PastEvent(
        id=event.pk,
        type=event.type,
        sensor_id=find_sensor_id(_about(event)) or "",
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
    """Return what an event is about; the subject of an attempt is its delivery."""
    return str(event.payload.get("about", "")) if event.type == ATTEMPTED else event.subject


def _payload(event: Event) -> dict[str, Any]:
    payload: dict[str, Any] = event.payload
    if event.type != ATTEMPTED:
        return payload
    fields = {name: value for name, value in payload.items() if name != "about"}
    return {**fields, "delivery": int(event.subject.rpartition("/")[2])}
