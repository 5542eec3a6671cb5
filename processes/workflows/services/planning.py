"""Make the next step of an instance from what the engine answered: nothing is read or written here."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec

from config.common.correlation import correlation_id
from config.common.ids import new_id
from config.common.text import is_storable
from processes.workflows.engine.runner import CommandFailed, InstanceState
from processes.workflows.heads import Head
from processes.workflows.ids import subject_of
from processes.workflows.models.effect import WorkflowEffect
from processes.workflows.models.instance import ENDED
from processes.workflows.services.open_work import compare_open_work, section
from processes.workflows.services.steps import NewEffect, NewEvent, Step
from processes.workflows.state_storage import split_state

CUSTOM_PREFIX = "custom."
"""How the types of events begin that are not the product's."""
LONGEST_TYPE = 80
EVENT_KINDS = {WorkflowEffect.Kind.EVENT, WorkflowEffect.Kind.THROW, WorkflowEffect.Kind.SIGNAL}
"""Effects that are events: the outbox is where they go."""


@dataclass(frozen=True)
class CommandRequest:
    """A command with who gave it and why."""

    command: Mapping[str, Any]
    actor: str
    at: datetime
    expected_version: int | None = None
    cause: str = ""
    taken_key: str | None = None
    """The event and the element, where a command brings an event."""
    position: int = 0
    """Of that event."""
    task_id: str = ""
    """The id of its task as the caller was given it, which says when the task was opened."""
    variables: Mapping[str, Any] = field(default_factory=dict)
    """To be set before the command is run."""


def plan_step(head: Head, order: CommandRequest, state: InstanceState, effects: Iterable[Mapping[str, Any]]) -> Step:
    gone = compare_open_work(head.state, state, done=_done(order.command, head.state))
    return make_step(head, order, state, effects, mirrored=gone)


def make_step(
    head: Head,
    order: CommandRequest,
    state: InstanceState,
    effects: Iterable[Mapping[str, Any]] = (),
    *,
    mirrored: Any = None,
    parent: int | None = None,
    revision_id: int | None = None,
) -> Step:
    """Put together the version and its rows."""
    given = list(effects)
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
        ended_at=(head.ended_at or order.at) if status in ENDED else None,
        cause=(order.cause or describe_cause(order.command, head.state))[:200],
        actor=order.actor[:160],
        at=order.at,
        correlation_id=correlation_id(),
        skeleton=stored.skeleton,
        bodies={digest: body for digest, body in stored.bodies.items() if digest not in head.digests},
        digests=" ".join(stored.bodies),
        taken_key=order.taken_key,
        position=order.position,
        mirror=mirrored or compare_open_work(head.state, state),
        effects=[_effect(effect, order.at) for effect in given],
        events=[_event(effect, head) for effect in given if effect["kind"] in EVENT_KINDS],
    )


def describe_cause(command: Mapping[str, Any], state: InstanceState | None) -> str:
    """Say what caused a version: the command, and the element it was about."""
    name = str(command["command"])
    parts = (("task", "tasks"), ("item", "items"), ("timer", "timers"), ("subscription", "subscriptions"))
    for key, part in parts:
        if key in command:
            record = section(state or {}, part).get(str(command[key])) or {}
            return f"{name} {record.get('element', command[key])}"
    return f"{name} {command['name']}" if "name" in command else name


def _done(command: Mapping[str, Any], state: InstanceState | None) -> Collection[str]:
    """Name the tasks that this command completes, if they are gone after it."""
    if command["command"] in ("complete_task", "complete_job"):
        return {str(command["task"])}
    if command["command"] == "complete_item":
        return {local for local, task in section(state or {}, "tasks").items() if task["token"] == command["item"]}
    if command["command"] in ("event", "send_message"):
        return {local for local, task in section(state or {}, "tasks").items() if task["kind"] == "receive"}
    return ()


def _effect(effect: Mapping[str, Any], at: datetime) -> NewEffect:
    leaves_now = effect["kind"] in EVENT_KINDS
    return NewEffect(
        local=effect["id"],
        kind=effect["kind"],
        element=effect["element"][:200],
        name=effect.get("name", "")[:200],
        inputs=msgspec.json.encode(effect["inputs"]).decode(),
        status=str(WorkflowEffect.Status.LEFT if leaves_now else WorkflowEffect.Status.WAITING),
        left_at=at if leaves_now else None,
        due_at=None if leaves_now else at,
    )


def _event(effect: Mapping[str, Any], head: Head) -> NewEvent:
    """Make the event that an effect is; it names the instance, to which a signal does not come back."""
    inputs = effect["inputs"]
    name, record, payload = effect.get("name", ""), head.record, inputs
    if effect["kind"] == WorkflowEffect.Kind.EVENT:
        name = inputs.get("type") or name or effect["element"]
        record = inputs.get("record", head.record)
        rest = {key: value for key, value in inputs.items() if key not in ("type", "record")}
        payload = inputs.get("payload", rest)
    elif effect["kind"] == WorkflowEffect.Kind.SIGNAL:
        record = ""  # a signal is for everybody
    type_ = _type(name, effect["element"])
    if not is_storable([payload, record]):
        raise CommandFailed(effect["element"], "No database keeps the character NUL.")
    told = {
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
    return NewEvent(type=type_, subject=subject_of(head.id), payload=told)


def _type(name: Any, element: str) -> str:
    text = str(name)
    text = text if text.startswith(CUSTOM_PREFIX) else f"{CUSTOM_PREFIX}{text}"
    if len(text) > LONGEST_TYPE or not is_storable(text):
        raise CommandFailed(element, f"The type of an event has at most {LONGEST_TYPE} characters.")
    return text
