"""One step of an instance: the next version and the rows that follow from it, planned from the engine's outcome.

Nothing is read or written here; `write_step` writes a step.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypedDict
from uuid import UUID

import msgspec

from config.common.correlation import correlation_id
from config.common.ids import new_id
from config.common.text import is_storable
from processes.workflows.engine.runner import CommandFailed, InstanceState
from processes.workflows.heads import Head
from processes.workflows.models.effect import WorkflowEffect
from processes.workflows.models.instance import ENDED
from processes.workflows.services.open_work import OpenWorkChanges, compare_open_work
from processes.workflows.state_storage import section, split_state
from processes.workflows.subjects import subject_of

CUSTOM_PREFIX = "custom."
"""The types of events that are not the product's own begin with it."""
LONGEST_TYPE = 80
EVENT_KINDS = {WorkflowEffect.Kind.EVENT, WorkflowEffect.Kind.THROW, WorkflowEffect.Kind.SIGNAL}
"""Effects that are events: they are written to the outbox with their version, so they need no dispatch."""


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
    new_instance: NewInstance | None = None
    """Set on the first step of an instance, whose row is written with it."""

    @property
    def number(self) -> int:
        return self.head + 1


def plan_step(head: Head, request: CommandRequest, state: InstanceState, effects: Iterable[Mapping[str, Any]]) -> Step:
    """Plan the step from the head to the state that the engine returned."""
    changes = compare_open_work(head.state, state, done=_find_completed(request.command, head.state))
    return build_step(head, request, state, effects, open_work=changes)


def build_step(
    head: Head,
    request: CommandRequest,
    state: InstanceState,
    effects: Iterable[Mapping[str, Any]] = (),
    *,
    open_work: OpenWorkChanges,
    parent: int | None = None,
    revision_id: int | None = None,
) -> Step:
    """Build a step; without `parent` and `revision_id` it continues the head."""
    effects = list(effects)
    stored = split_state(state)
    status = state["status"]
    return Step(
        instance_id=head.id,
        head=head.number,
        open_incidents=head.open_incidents,
        parent=parent if parent is not None else head.number or None,
        revision_id=revision_id or head.revision_id,
        epoch=state["epoch"],
        record=head.record,
        status=status,
        ended_at=(head.ended_at or request.at) if status in ENDED else None,
        cause=(request.cause or describe_cause(request.command, head.state))[:200],
        actor=request.actor[:160],
        at=request.at,
        correlation_id=correlation_id(),
        skeleton=stored.skeleton,
        bodies={digest: body for digest, body in stored.bodies.items() if digest not in head.digests},
        digests=" ".join(stored.bodies),
        taken_key=request.taken_key,
        position=request.position,
        open_work=open_work,
        effects=[_new_effect(effect, request.at) for effect in effects],
        events=[_thrown_event(effect, head) for effect in effects if effect["kind"] in EVENT_KINDS],
    )


def describe_cause(command: Mapping[str, Any], state: InstanceState | None) -> str:
    """Return the cause of a version: the command, and the element it was about."""
    name = str(command["command"])
    parts = (("task", "tasks"), ("item", "items"), ("timer", "timers"), ("subscription", "subscriptions"))
    for key, part in parts:
        if key in command:
            record = section(state or {}, part).get(str(command[key])) or {}
            return f"{name} {record.get('element', command[key])}"
    return f"{name} {command['name']}" if "name" in command else name


def _find_completed(command: Mapping[str, Any], state: InstanceState | None) -> Collection[str]:
    """Return the tasks that count as done, not as cancelled, if they are gone after the command."""
    if command["command"] in ("complete_task", "complete_job"):
        return {str(command["task"])}
    if command["command"] == "complete_item":
        return {local for local, task in section(state or {}, "tasks").items() if task["token"] == command["item"]}
    if command["command"] in ("event", "send_message"):
        return {local for local, task in section(state or {}, "tasks").items() if task["kind"] == "receive"}
    return ()


def _new_effect(effect: Mapping[str, Any], at: datetime) -> NewEffect:
    is_event = effect["kind"] in EVENT_KINDS
    return NewEffect(
        local=effect["id"],
        kind=effect["kind"],
        element=effect["element"][:200],
        name=effect.get("name", "")[:200],
        inputs=msgspec.json.encode(effect["inputs"]).decode(),
        status=str(WorkflowEffect.Status.LEFT if is_event else WorkflowEffect.Status.WAITING),
        left_at=at if is_event else None,
        due_at=None if is_event else at,
    )


def _thrown_event(effect: Mapping[str, Any], head: Head) -> ThrownEvent:
    """Return the outbox event of an effect; it names the instance, so that a signal does not come back to it."""
    inputs = effect["inputs"]
    name, record, payload = effect.get("name", ""), head.record, inputs
    if effect["kind"] == WorkflowEffect.Kind.EVENT:
        name = inputs.get("type") or name or effect["element"]
        record = inputs.get("record", head.record)
        rest = {key: value for key, value in inputs.items() if key not in ("type", "record")}
        payload = inputs.get("payload", rest)
    elif effect["kind"] == WorkflowEffect.Kind.SIGNAL:
        record = ""  # a signal is for everybody
    event_type = _event_type(name, effect["element"])
    if not is_storable([payload, record]):
        raise CommandFailed(effect["element"], "The character NUL cannot be stored.")
    body = {
        "record": str(record)[:200],
        "payload": payload,
        "instance": str(head.id),
        "definition": head.definition,
        "enterprise": head.enterprise,
        "effect": effect["id"],
        "message_id": str(new_id()),
        "kind": effect["kind"],
        "hops": effect.get("hops", 1),
    }
    return ThrownEvent(type=event_type, subject=subject_of(head.id), payload=body)


def _event_type(name: Any, element: str) -> str:
    text = str(name)
    text = text if text.startswith(CUSTOM_PREFIX) else f"{CUSTOM_PREFIX}{text}"
    if len(text) > LONGEST_TYPE or not is_storable(text):
        raise CommandFailed(element, f"The type of an event has at most {LONGEST_TYPE} characters.")
    return text
