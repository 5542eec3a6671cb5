"""The rows of open work that a step opens, changes and closes: the difference between two states of an instance."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict

import msgspec

from processes.workflows.engine.runner import InstanceState
from processes.workflows.models import WorkItem
from processes.workflows.services.suspension import is_instance_suspended, is_owner_suspended
from processes.workflows.state_storage import section

SUBSCRIBED = ("message", "signal")
"""Kinds of subscriptions that events from outside the instance can reach."""


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


@dataclass(frozen=True)
class OpenWorkChanges:
    items: Sequence[NewItem] = ()
    items_closed: Sequence[ClosedItem] = ()
    items_toggled: Sequence[str] = ()
    """Claimable work that is withheld from now on, or may be claimed again."""
    timers: Sequence[SetTimer] = ()
    timers_gone: Sequence[str] = ()
    subscriptions: Sequence[NewSubscription] = ()
    subscriptions_gone: Sequence[str] = ()


def compare_open_work(
    before: InstanceState | None, after: InstanceState, *, done: Collection[str] = (), is_return: bool = False
) -> OpenWorkChanges:
    """Return the changes between two states; tasks in `done` were completed, other missing ones were cancelled."""
    old, new = before or {}, after
    gone = WorkItem.Status.ABANDONED if is_return else WorkItem.Status.CANCELLED
    changes: dict[str, Any] = {
        "items": [_new_item(local, task, new) for local, task in _added(old, new, "tasks")],
        "items_closed": [
            ClosedItem(local=local, status=(WorkItem.Status.DONE if local in done else gone).value)
            for local in _removed(old, new, "tasks")
        ],
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


def _new_item(local: str, task: dict[str, Any], state: InstanceState) -> NewItem:
    since = datetime.fromisoformat(task["since"])
    is_claimable = task["kind"] in WorkItem.CLAIMABLE
    return NewItem(
        local=local,
        element=task["element"][:200],
        name=(task.get("name") or "")[:200],
        kind=task["kind"],
        topic=(task.get("topic") or task.get("handler") or "")[:200] if is_claimable else "",
        inputs=msgspec.json.encode(task["inputs"]).decode() if is_claimable and "inputs" in task else "",
        since=since,
        due_at=since if is_claimable and not is_owner_suspended(state, task["token"]) else None,
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
    key, revision = _find_definition(state, each["scope"])
    return NewSubscription(
        local=local,
        element=each["element"][:200],
        definition=key,
        revision=revision,
        kind=each["kind"],
        name=each["name"][:200],
    )


def _find_definition(state: InstanceState, scope_id: str) -> tuple[str, int]:
    """Return the key and revision of the nearest definition around a scope: of a called one, its own."""
    scopes = section(state, "scopes")
    scope = scopes[scope_id]
    while "definition" not in scope:
        scope = scopes[scope["parent"]]
    key, revision = scope["definition"]
    return key, revision
