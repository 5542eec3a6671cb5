"""What is known about one sensor, one client and one time: plain values, collected before anything is decided."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from notifications.models import Attempt, Delivery
from sensors.history.values import PastEvent
from sensors.ingest.signals import Signal
from sensors.models import RejectedSignal, RepeatedSignal


class Reach(StrEnum):
    """How far history can be relied on for this occurrence."""

    WHOLE = "whole"
    AWAY = "away"
    """Its engine does not answer."""
    BEHIND = "behind"
    """The newest signal of the sensor is not in it yet."""
    EXPIRED = "expired"
    """The time is older than what is kept."""


@dataclass(frozen=True)
class Occurrence:
    """The one thing about a sensor that is explained; where all are None nothing happened about then."""

    event: PastEvent | None = None
    signal: Signal | None = None
    refusal: RejectedSignal | None = None
    repeat: RepeatedSignal | None = None


@dataclass(frozen=True)
class Before:
    """The value that a sensor had before a signal."""

    value: int | None
    is_known: bool = True
    """False where the event that would tell may have expired."""
    since: PastEvent | None = None
    """The event that had set it."""


@dataclass(frozen=True)
class SensorThen:
    is_registered: bool = True
    is_active: bool | None = True
    """None where it is no longer known."""
    changed_at: datetime | None = None
    """When that had been set."""


@dataclass(frozen=True)
class LinkThen:
    """Whether the client was linked when the event was published."""

    is_linked: bool | None = True
    """None where it is no longer known."""
    changed_at: datetime | None = None


@dataclass(frozen=True)
class Outage:
    from_at: datetime
    to_at: datetime | None
    """None while it lasts."""


@dataclass(frozen=True)
class Receiver:
    """The state of a client's endpoint now."""

    is_active: bool = True
    is_paused: bool = False
    paused_at: datetime | None = None
    opened_at: datetime | None = None
    probe_at: datetime | None = None
    not_before: datetime | None = None


@dataclass(frozen=True)
class Sent:
    """The delivery of an event to the client."""

    delivery: Delivery
    attempts: tuple[Attempt, ...] = ()
    """The newest first."""
    waits_for: int | None = None
    """An older delivery that must end before it."""


@dataclass(frozen=True)
class Case:
    """All that a verdict is made of."""

    now: datetime
    at: datetime
    occurrence: Occurrence = field(default_factory=Occurrence)
    before: Before | None = None
    """Of a signal without an event."""
    reach: Reach = Reach.WHOLE
    sensor: SensorThen = field(default_factory=SensorThen)
    outage: Outage | None = None
    """One that overlaps the time asked about."""
    is_applied: bool = True
    """Whether every signal that was sent by then is known to be applied."""
    seen_at: datetime | None = None
    """When the sensor was heard last before the occurrence."""
    are_refusals_kept: bool = True
    """Whether refusals and repeats of that time are still there."""
    link: LinkThen = field(default_factory=LinkThen)
    sent: Sent | None = None
    are_deliveries_kept: bool = True
    told_at: datetime | None = None
    """When history has a successful attempt of a delivery that has expired."""
    receiver: Receiver = field(default_factory=Receiver)
    muted_until: datetime | None = None
    """The end of the mute that withheld a loss."""
    details: dict[str, Any] = field(default_factory=dict)
