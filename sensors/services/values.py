"""The values of a sensor and of a client: what services change and what the change log records."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import TypedDict


@dataclass(frozen=True, slots=True)
class SensorValues:
    address: str = ""
    notes: str = ""
    active: bool = True
    heartbeat_timeout: int = 3600
    open_limit: int | None = None
    """How many seconds the door may stay open; None: as long as it likes."""
    muted_until: datetime | None = None
    clients: list[int] = field(default_factory=list)
    """The ids of the linked clients, sorted."""


class SensorEdits(TypedDict, total=False):
    address: str
    notes: str
    active: bool
    heartbeat_timeout: int
    open_limit: int | None
    muted_until: datetime | None
    clients: list[int]


@dataclass(frozen=True)
class ClientValues:
    name: str = ""
    url: str = ""
    active: bool = True
    paused: bool = False
    muted_until: datetime | None = None
    rotated_at: datetime | None = None
    """When its secret was replaced, for as long as the old one still signs."""


class ClientEdits(TypedDict, total=False):
    name: str
    url: str
    active: bool
    paused: bool
    muted_until: datetime | None
