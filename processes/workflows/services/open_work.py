"""Rows of open work by the difference of two states: what is there now and was not, what was there and is gone."""

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from typing import Any

import msgspec

from processes.workflows.engine.runner import InstanceState
from processes.workflows.models import WorkItem
from processes.workflows.services.steps import (
    ClosedItem,
    NewItem,
    NewSubscription,
    OpenWorkChanges,
    SetTimer,
)
from processes.workflows.services.suspension import is_instance_suspended, is_owner_suspended

CLAIMABLE = {WorkItem.Kind.EXTERNAL, WorkItem.Kind.JOB}
"""Kinds of work that workers take."""
_OUTSIDE = ("message", "signal")


def compare_open_work(
    before: InstanceState | None, after: InstanceState, *, done: Collection[str] = (), is_return: bool = False
) -> OpenWorkChanges:
    """Compare two states; `done` names the tasks that were completed, the others that are gone were cancelled."""
    old, new = before or {}, after
    gone = WorkItem.Status.ABANDONED if is_return else WorkItem.Status.CANCELLED
    closed = _gone(old, new, "tasks")
    changes: dict[str, Any] = {
        "items": [_item(local, task, new) for local, task in _fresh(old, new, "tasks")],
        "items_closed": [
            ClosedItem(local=local, status=(WorkItem.Status.DONE if local in done else gone).value) for local in closed
        ],
    }
    # What there is not, as a rule, is not looked at closer.
    if new.get("items"):
        changes["items_held"] = list(_held(old, new))
    if old.get("timers") or new.get("timers"):
        changes |= {"timers": list(_timers(old, new)), "timers_gone": _gone(old, new, "timers")}
    if old.get("subscriptions") or new.get("subscriptions"):
        changes |= {
            "subscriptions": list(_subscriptions(old, new)),
            "subscriptions_gone": _gone(old, new, "subscriptions"),
        }
    return OpenWorkChanges(**changes)


def section(state: Mapping[str, Any], name: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = state.get(name) or {}
    return found


def find_definition(state: InstanceState, scope_id: str) -> tuple[str, int]:
    """Find whose element lies in a scope: the definition of the nearest scope outward that has one."""
    scopes = section(state, "scopes")
    scope = scopes[scope_id]
    while "definition" not in scope:
        scope = scopes[scope["parent"]]
    key, revision = scope["definition"]
    return key, revision


def _fresh(old: InstanceState, new: InstanceState, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    was = section(old, name)
    return ((local, each) for local, each in section(new, name).items() if local not in was)


def _gone(old: InstanceState, new: InstanceState, name: str) -> list[str]:
    still = section(new, name)
    return [local for local in section(old, name) if local not in still]


def _held(old: InstanceState, new: InstanceState) -> Iterator[str]:
    """Name the work that workers take which has come to stand still, or may go on, with an item around it.

    With the whole instance all of it does, and is held by one statement.
    """
    if not (old.get("items") and new.get("items")) or is_instance_suspended(old) or is_instance_suspended(new):
        return
    before, after = section(old, "tasks"), section(new, "tasks")
    for local in before.keys() & after.keys():
        task = after[local]
        if task["kind"] in CLAIMABLE and is_owner_suspended(old, before[local]["token"]) != is_owner_suspended(
            new, task["token"]
        ):
            yield local


def _timers(old: InstanceState, new: InstanceState) -> Iterator[SetTimer]:
    """Timers that are new, or are due at another time than before; all of them when they are held or let go."""
    held, were = is_instance_suspended(new), section(old, "timers")
    everything = held != is_instance_suspended(old)
    for local, timer in section(new, "timers").items():
        if everything or local not in were or were[local]["due"] != timer["due"]:
            due_at = None if held else datetime.fromisoformat(timer["due"])
            yield SetTimer(local=local, element=timer["element"][:200], due_at=due_at)


def _subscriptions(old: InstanceState, new: InstanceState) -> Iterator[NewSubscription]:
    for local, each in _fresh(old, new, "subscriptions"):
        if each["kind"] in _OUTSIDE:
            yield _subscription(local, each, new)


def _item(local: str, task: dict[str, Any], state: InstanceState) -> NewItem:
    since = datetime.fromisoformat(task["since"])
    is_taken = task["kind"] in CLAIMABLE
    return NewItem(
        local=local,
        element=task["element"][:200],
        name=(task.get("name") or "")[:200],
        kind=task["kind"],
        topic=(task.get("topic") or task.get("handler") or "")[:200] if is_taken else "",
        inputs=msgspec.json.encode(task["inputs"]).decode() if is_taken and "inputs" in task else "",
        since=since,
        due_at=since if is_taken and not is_owner_suspended(state, task["token"]) else None,
    )


def _subscription(local: str, each: dict[str, Any], state: InstanceState) -> NewSubscription:
    key, revision = find_definition(state, each["scope"])
    return NewSubscription(
        local=local,
        element=each["element"][:200],
        definition=key,
        revision=revision,
        kind=each["kind"],
        name=each["name"][:200],
    )
