"""One step of an instance: the next version, and the rows that follow from it, before anything is written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypedDict
from uuid import UUID


class NewItem(TypedDict):
    local: str
    element: str
    name: str
    kind: str
    topic: str
    inputs: str
    since: datetime
    due_at: datetime | None


class ClosedItem(TypedDict):
    local: str
    status: str


class SetTimer(TypedDict):
    local: str
    element: str
    due_at: datetime | None


class NewSubscription(TypedDict):
    local: str
    element: str
    definition: str
    revision: int
    kind: str
    name: str


class NewEffect(TypedDict):
    local: str
    kind: str
    element: str
    name: str
    inputs: str
    status: str
    left_at: datetime | None
    due_at: datetime | None


class NewEvent(TypedDict):
    type: str
    subject: str
    payload: dict[str, Any]


@dataclass(frozen=True)
class OpenWorkChanges:
    """What becomes of the rows of open work."""

    items: Sequence[NewItem] = ()
    items_closed: Sequence[ClosedItem] = ()
    items_held: Sequence[str] = ()
    """Work that workers take: held back where it could be taken, given to them where it was held back."""
    timers: Sequence[SetTimer] = ()
    timers_gone: Sequence[str] = ()
    subscriptions: Sequence[NewSubscription] = ()
    subscriptions_gone: Sequence[str] = ()


class NewInstance(TypedDict):
    """What an instance that begins has beside what every step has."""

    definition: str
    start_key: str | None


@dataclass(frozen=True)
class Step:
    instance_id: UUID
    head: int
    """Where the head must be for this to be written."""
    open_incidents: int
    """How many there must be for it: an incident is opened without a version."""
    parent: int | None
    revision_id: int
    epoch: int
    record: str
    status: str
    ended_at: datetime | None
    cause: str
    actor: str
    at: datetime
    correlation_id: str
    skeleton: str
    bodies: Mapping[str, str] = field(default_factory=dict)
    digests: str = ""
    taken_key: str | None = None
    position: int = 0
    mirror: OpenWorkChanges = field(default_factory=OpenWorkChanges)
    effects: Sequence[NewEffect] = ()
    events: Sequence[NewEvent] = ()
    beginning: NewInstance | None = None
    """Of the first step of an instance: its row is written with it."""

    @property
    def number(self) -> int:
        return self.head + 1
