"""What history is made of: the past of signals is `Signal` itself, the past of events stands here. Times in ms."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeAlias

import msgspec

from config.common.moments import format_moment
from notifications.models import Event
from sensors.ingest.signals import Signal, milliseconds, moment
from sensors.services.telling import subject_of

STATE_CHANGED = "sensor.state_changed"
CONNECTION_LOST = "sensor.connection_lost"
CONNECTION_RESTORED = "sensor.connection_restored"
LOSS_WITHDRAWN = "sensor.loss_withdrawn"
KINDS = (STATE_CHANGED, CONNECTION_LOST, CONNECTION_RESTORED, LOSS_WITHDRAWN)

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


def format_milliseconds(at: int) -> str:
    """Write a time as `2026-01-31T23:59:59.000Z`; of many at once most fall into the same few minutes."""
    minute, rest = divmod(at, 60_000)
    return f"{_format_minute(minute)}{_SECONDS[rest // 1000]}{_MILLISECONDS[rest % 1000]}"


@lru_cache(maxsize=4096)
def _format_minute(minute: int) -> str:
    return format_moment(moment(minute * 60_000))[:-7]


def signal_key(signal: Signal) -> SignalKey:
    return (signal.at, signal.sensor_id, signal.id)


def past_event(event: Event) -> PastEvent:
    return PastEvent(
        id=event.pk,
        type=event.type,
        sensor_id=event.subject.removeprefix(subject_of("")),
        at=milliseconds(event.at),
        recorded_at=milliseconds(event.recorded_at),
        correlation_id=event.correlation_id,
        payload=event.payload,
    )
