"""One step of an instance: the next version and the rows that follow from it.

`plan_step` plans a step from the engine's outcome, `write_step` writes it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypedDict
from uuid import UUID

from processes.workflows.engine.execution.visits import Visit


@dataclass(frozen=True)
class CommandRequest:
    """A command for the engine, with its actor and cause."""

    command: Mapping[str, Any]
    actor: str
    at: datetime
    expected_version: int | None = None
    cause: str = ""
    taken_key: str | None = None
    """Of a command that brings an event: the event and the element that takes it."""
    position: int = 0
    """The outbox position of that event."""
    task_id: str = ""
    """The public id of the task as the caller has it, which says when the task was opened."""
    variables: Mapping[str, Any] = field(default_factory=dict)
    """Set before the command is run."""
    revision_id: int | None = None
    """Of a migration: the revision that the instance moves to."""


class NewTask(TypedDict):
    """What a task for people has beside what all work has."""

    detail: str
    assignee: str
    deadline_at: datetime
    follow_up_at: datetime | None
    priority: int
    notes: str
    search: str
    notice_at: datetime | None


class NewItem(NewTask):
    local: str
    element: str
    name: str
    kind: str
    topic: str
    inputs: str
    since: datetime
    due_at: datetime | None


class NewCandidate(TypedDict):
    local: str
    """Of the task."""
    kind: str
    name: str
    is_waiting: bool
    deadline_at: datetime
    priority: int


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


@dataclass(frozen=True)
class OpenWorkChanges:
    items: Sequence[NewItem] = ()
    items_closed: Sequence[ClosedItem] = ()
    items_toggled: Sequence[str] = ()
    """Claimable work that is withheld from now on, or may be claimed again."""
    candidates: Sequence[NewCandidate] = ()
    candidates_gone: Sequence[str] = ()
    """Closed tasks that have had some."""
    timers: Sequence[SetTimer] = ()
    timers_gone: Sequence[str] = ()
    subscriptions: Sequence[NewSubscription] = ()
    subscriptions_gone: Sequence[str] = ()
    terms: Sequence[str] = ()
    """What the instance is found by from now on (`search_terms.py`)."""
    terms_gone: Sequence[str] = ()


class NewEffect(TypedDict):
    local: str
    kind: str
    element: str
    name: str
    inputs: str
    status: str
    left_at: datetime | None
    due_at: datetime | None


class ThrownEvent(TypedDict):
    type: str
    subject: str
    payload: dict[str, Any]


class NewInstance(TypedDict):
    """What the row of a new instance needs beside what every step has."""

    definition: str
    start_key: str | None


@dataclass(frozen=True)
class Step:
    instance_id: UUID
    head: int
    """The step is written only if the instance is still at this version."""
    open_incidents: int
    """And only if it still has so many: an incident is opened without a new version."""
    number: int
    """Of the version that it writes."""
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
    open_work: OpenWorkChanges = field(default_factory=OpenWorkChanges)
    effects: Sequence[NewEffect] = ()
    events: Sequence[ThrownEvent] = ()
    visits: Sequence[Visit] = ()
    new_instance: NewInstance | None = None
    """Set on the first step of an instance, whose row is written with it."""
    shadow: int | None = None
    heard: str = ""
    """What the shadow of the instance is to hear; empty: it has none."""
