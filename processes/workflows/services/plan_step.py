"""Plan a step from the engine's outcome: the next version, effects, and the difference of open work between two states.

Nothing is read or written here; `write_step` writes a step.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

import msgspec

from config.common.correlation import correlation_id
from config.common.ids import new_id
from config.common.text import is_storable
from processes.workflows.engine.event_names import CUSTOM_PREFIX, LONGEST_TYPE
from processes.workflows.engine.execution.visits import Visit, find_visits
from processes.workflows.engine.runner import CommandFailed, CommandOutcome, InstanceState
from processes.workflows.heads import Head
from processes.workflows.models.effect import WorkflowEffect
from processes.workflows.models.instance import ENDED
from processes.workflows.models.open_work import DEFAULT_PRIORITY, NO_DEADLINE, TaskCandidate, WorkItem
from processes.workflows.search_terms import list_terms
from processes.workflows.services.shadow.inputs import encode_input
from processes.workflows.services.steps import (
    ClosedItem,
    CommandRequest,
    NewCandidate,
    NewEffect,
    NewItem,
    NewSubscription,
    NewTask,
    OpenWorkChanges,
    SetTimer,
    Step,
    ThrownEvent,
)
from processes.workflows.services.suspension import is_instance_suspended, is_owner_suspended
from processes.workflows.state_storage import section, split_state
from processes.workflows.subjects import subject_of

EVENT_KINDS = {WorkflowEffect.Kind.EVENT, WorkflowEffect.Kind.THROW, WorkflowEffect.Kind.SIGNAL}
"""Effects that are events: they are written to the outbox with their version, so they need no dispatch."""
SUBSCRIBED = ("message", "signal")
"""Kinds of subscriptions that events from outside the instance can reach."""
LONGEST_SEARCH = 1000
LONGEST_VALUE = 100
MOST_VARIABLES = 100
NOBODYS: NewTask = {
    "detail": "",
    "assignee": "",
    "deadline_at": NO_DEADLINE,
    "follow_up_at": None,
    "priority": DEFAULT_PRIORITY,
    "notes": "",
    "search": "",
    "notice_at": None,
}
"""The same columns of work that is not for people."""


def plan_step(head: Head, request: CommandRequest, outcome: CommandOutcome) -> Step:
    """Plan the step from the head to the state that the engine returned."""
    state = outcome.state
    done = _find_completed(request.command, head.state)
    changes = compare_open_work(head.state, state, done=done, about=f"{head.record}\n{head.definition}")
    visits = find_visits(head.state, state, outcome.entered, outcome.occurred)
    return build_step(head, request, outcome, open_work=changes, revision_id=request.revision_id, visits=visits)


def build_step(
    head: Head,
    request: CommandRequest,
    outcome: CommandOutcome,
    *,
    open_work: OpenWorkChanges,
    parent: int | None = None,
    revision_id: int | None = None,
    visits: Sequence[Visit] = (),
) -> Step:
    """Build a step; without `parent` and `revision_id` it continues the head."""
    state, effects = outcome.state, outcome.effects
    stored = split_state(state)
    status = state["status"]
    return Step(
        instance_id=head.id,
        head=head.number,
        open_incidents=head.open_incidents,
        number=head.number + 1,
        parent=parent if parent is not None else head.number or None,
        revision_id=revision_id or head.revision_id,
        epoch=state["epoch"],
        record=head.record,
        status=status,
        ended_at=(head.ended_at or request.at) if status in ENDED else None,
        cause=(request.cause or _describe_cause(request.command, head.state))[:200],
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
        visits=visits,
        shadow=head.shadow,
        heard="" if head.shadow is None else encode_input(request, outcome.trace),
    )


def _find_completed(command: Mapping[str, Any], state: InstanceState | None) -> Collection[str]:
    """Return the tasks that count as done, not as cancelled, if they are gone after the command."""
    if command["command"] in ("complete_task", "complete_job"):
        return {str(command["task"])}
    if command["command"] == "complete_item":
        return {local for local, task in section(state or {}, "tasks").items() if task["token"] == command["item"]}
    if command["command"] in ("event", "send_message"):
        return {local for local, task in section(state or {}, "tasks").items() if task["kind"] == "receive"}
    return ()


def compare_open_work(
    before: InstanceState | None,
    after: InstanceState,
    *,
    done: Collection[str] = (),
    is_return: bool = False,
    about: str = "",
) -> OpenWorkChanges:
    """Return the changes between two states; tasks in `done` were completed, other missing ones were cancelled.

    `about` is what tasks are found by beside their own names: the record and the definition of the instance.
    """
    old, new = before or {}, after
    gone = WorkItem.Status.ABANDONED if is_return else WorkItem.Status.CANCELLED
    opened, closed = list(_added(old, new, "tasks")), _removed(old, new, "tasks")
    changes: dict[str, Any] = {
        "items": [_new_item(local, task, new, about) for local, task in opened],
        "items_closed": [
            ClosedItem(local=local, status=(WorkItem.Status.DONE if local in done else gone).value) for local in closed
        ],
        "candidates": [each for local, task in opened if "people" in task for each in list_candidates(local, task)],
        "candidates_gone": [local for local in closed if "people" in section(old, "tasks")[local]],
    }
    known, found = dict.fromkeys(list_terms(before)), dict.fromkeys(list_terms(after))
    if known != found:
        changes |= {
            "terms": [term for term in found if term not in known],
            "terms_gone": [term for term in known if term not in found],
        }
    # Most states have tasks alone: the other sections are compared only where there are some.
    if new.get("items"):
        changes["items_toggled"] = list(_toggled_items(old, new))
    if old.get("timers") or new.get("timers"):
        changes |= {"timers": list(_changed_timers(old, new)), "timers_gone": _removed(old, new, "timers")}
    if old.get("subscriptions") or new.get("subscriptions"):
        changes |= {
            "subscriptions": [
                _new_subscription(local, each, new)
                for local, each in _added(old, new, "subscriptions")
                if each["kind"] in SUBSCRIBED
            ],
            "subscriptions_gone": _removed(old, new, "subscriptions"),
        }
    return OpenWorkChanges(**changes)


def _added(old: InstanceState, new: InstanceState, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    before = section(old, name)
    return ((local, each) for local, each in section(new, name).items() if local not in before)


def _removed(old: InstanceState, new: InstanceState, name: str) -> list[str]:
    after = section(new, name)
    return [local for local in section(old, name) if local not in after]


def _new_item(local: str, task: dict[str, Any], state: InstanceState, about: str) -> NewItem:
    since = datetime.fromisoformat(task["since"])
    is_claimable = task["kind"] in WorkItem.CLAIMABLE
    about_people = describe_task(task, state, about) if task["kind"] in WorkItem.FOR_PEOPLE else NOBODYS
    return NewItem(
        local=local,
        element=task["element"][:200],
        name=(task.get("name") or "")[:200],
        kind=task["kind"],
        topic=(task.get("topic") or task.get("handler") or "")[:200] if is_claimable else "",
        inputs=msgspec.json.encode(task["inputs"]).decode() if is_claimable and "inputs" in task else "",
        since=since,
        due_at=since if is_claimable and not is_owner_suspended(state, task["token"]) else None,
        **about_people,
    )


def _toggled_items(old: InstanceState, new: InstanceState) -> Iterator[str]:
    """Yield the claimable tasks that a plan item around them has suspended or resumed."""
    # With the whole instance all of its work is suspended or resumed, by one statement (`update_claimable_work`).
    if not (old.get("items") and new.get("items")) or is_instance_suspended(old) or is_instance_suspended(new):
        return
    before, after = section(old, "tasks"), section(new, "tasks")
    for local in before.keys() & after.keys():
        task = after[local]
        if task["kind"] not in WorkItem.CLAIMABLE:
            continue
        if is_owner_suspended(old, before[local]["token"]) != is_owner_suspended(new, task["token"]):
            yield local


def _changed_timers(old: InstanceState, new: InstanceState) -> Iterator[SetTimer]:
    """Yield the timers that are new or due at another time; all of them when the instance is suspended or resumed."""
    is_suspended, before = is_instance_suspended(new), section(old, "timers")
    is_toggled = is_suspended != is_instance_suspended(old)
    for local, timer in section(new, "timers").items():
        if is_toggled or local not in before or before[local]["due"] != timer["due"]:
            due_at = None if is_suspended else datetime.fromisoformat(timer["due"])
            yield SetTimer(local=local, element=timer["element"][:200], due_at=due_at)


def _new_subscription(local: str, each: dict[str, Any], state: InstanceState) -> NewSubscription:
    key, revision = find_definition(state, each["scope"])
    return NewSubscription(
        local=local,
        element=each["element"][:200],
        definition=key,
        revision=revision,
        kind=each["kind"],
        name=each["name"][:200],
    )


def find_definition(state: InstanceState, scope_id: str) -> tuple[str, int]:
    """Return the key and revision of the nearest definition around a scope: of a called one, its own."""
    scopes = section(state, "scopes")
    scope = scopes[scope_id]
    while "definition" not in scope:
        scope = scopes[scope["parent"]]
    key, revision = scope["definition"]
    return key, revision


def _describe_cause(command: Mapping[str, Any], state: InstanceState | None) -> str:
    """Return the cause of a version: the command, and the element it was about."""
    name = str(command["command"])
    parts = (("task", "tasks"), ("item", "items"), ("timer", "timers"), ("subscription", "subscriptions"))
    for key, part in parts:
        if key in command:
            record = section(state or {}, part).get(str(command[key])) or {}
            return f"{name} {record.get('element', command[key])}"
    if "revision" in command:
        return f"{name} to revision {command['revision']}"
    return f"{name} {command['name']}" if "name" in command else name


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
        "generation": effect.get("generation", 1),
    }
    return ThrownEvent(type=event_type, subject=subject_of(head.id), payload=body)


def _event_type(name: Any, element: str) -> str:
    text = str(name)
    text = text if text.startswith(CUSTOM_PREFIX) else f"{CUSTOM_PREFIX}{text}"
    if len(text) > LONGEST_TYPE or not is_storable(text):
        raise CommandFailed(element, f"The type of an event has at most {LONGEST_TYPE} characters.")
    return text


def describe_task(task: dict[str, Any], state: InstanceState, about: str) -> NewTask:
    """Return the columns of a new task for people."""
    people = task.get("people", {})
    assignee, deadline_at = people.get("assignee", ""), _deadline(people)
    notice_at = datetime.fromisoformat(task["since"]) if assignee else None
    if notice_at is None and deadline_at < NO_DEADLINE:
        notice_at = deadline_at
    return {
        "detail": task.get("detail", ""),
        "assignee": assignee,
        "deadline_at": deadline_at,
        "follow_up_at": datetime.fromisoformat(people["follow_up"]) if "follow_up" in people else None,
        "priority": people.get("priority", DEFAULT_PRIORITY),
        "notes": "\n".join(people.get("notes", ())),
        "search": _collect_search(task, state, about),
        "notice_at": notice_at,
    }


def list_candidates(local: str, task: dict[str, Any]) -> Iterator[NewCandidate]:
    people = task["people"]
    for kind, names in ((TaskCandidate.Kind.USER, "users"), (TaskCandidate.Kind.GROUP, "groups")):
        for name in people.get(names, ()):
            yield NewCandidate(
                local=local,
                kind=kind.value,
                name=name,
                is_waiting=not people.get("assignee"),
                deadline_at=_deadline(people),
                priority=people.get("priority", DEFAULT_PRIORITY),
            )


def _deadline(people: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(people["due"]) if "due" in people else NO_DEADLINE


def _collect_search(task: dict[str, Any], state: InstanceState, about: str) -> str:
    """Return the names of a task and its short variables as `name=value`, a line each."""
    lines = [task.get("name") or "", task["element"], task.get("detail", ""), about]
    used = sum(map(len, lines))
    for name, value in islice(_list_variables(state, task["scope"]), MOST_VARIABLES):
        # A large variable is still encoded here, and is none of these.
        if isinstance(value, str | int | float) and len(text := str(value)) <= LONGEST_VALUE:
            lines.append(f"{name}={text}")
            used += len(lines[-1]) + 1
        if used > LONGEST_SEARCH:
            break
    return "\n".join(filter(None, lines))[:LONGEST_SEARCH]


def _list_variables(state: InstanceState, scope: str | None) -> Iterator[tuple[str, Any]]:
    """Yield the variables that are visible from a scope, the inner ones first, without decoding large ones."""
    while scope is not None:
        record = state["scopes"][scope]
        variables = record["variables"]
        yield from ((name, dict.__getitem__(variables, name)) for name in variables)
        scope = None if "definition" in record else record["parent"]
