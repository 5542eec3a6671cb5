"""The change log of the registry: every service that changes a registered object records it, in its transaction.

An app says once what of an object is worth keeping (`track`): the names are an allow-list, and a name that smells of a
secret is refused at start, so no secret or key hash can reach the log. A revert puts back only what that change had
touched, through the app's own service, and is itself a change.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from django.contrib.admin.utils import quote
from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils import timezone

from config.access.scopes import Scope
from config.common.correlation import correlation_id
from config.common.database.bulk_insert import insert_rows
from config.common.errors import Conflict, NotFound
from config.records.models import ChangeRecord

Values: TypeAlias = dict[str, Any]

_SECRET = re.compile(r"secret|digest|hash|password|token|private", re.IGNORECASE)
_tracked: dict[str, "Tracked"] = {}
_reverting: ContextVar[ChangeRecord | None] = ContextVar("reverting", default=None)


class ChangeNotFound(NotFound):
    """Change not found."""


class AlreadyReverted(Conflict):
    """This change has already been reverted."""


class ChangedSince(Conflict):
    """What this change set has been changed again since. Revert the newer change first."""


class NotRevertible(Conflict):
    """This change cannot be reverted."""


@dataclass(frozen=True)
class Tracked:
    kind: str
    fields: tuple[str, ...]
    find: Callable[[str], object | None]
    """Find the object (or its values) by its id, locked for the rest of the transaction."""
    restore: Callable[[str, Values | None, str], None]
    """Bring the object to the values (None: let it be gone) by the app's own service, on behalf of an actor."""
    page: str = ""
    """The name of the URL of its page in the admin, which takes its id."""
    scope: Scope = Scope.REGISTRY_WRITE
    """What it takes to change such an object; to take a change back takes no less."""


@dataclass(frozen=True)
class Change:
    kind: str
    object_id: str
    action: ChangeRecord.Action
    before: Values | None
    after: Values | None


Listener: TypeAlias = Callable[[Sequence[Change], Sequence[int]], None]
_listeners: list[Listener] = []
_needs: list[Callable[[], int | None]] = []


def track(tracked: Tracked) -> None:
    leaks = [name for name in tracked.fields if _SECRET.search(name)]
    if leaks:
        raise ValueError(f"{tracked.kind}: {', '.join(leaks)} must not go into the change log")
    _tracked[tracked.kind] = tracked


def tracked_kinds() -> list[str]:
    return sorted(_tracked)


def scope_of_kind(kind: str) -> Scope:
    return _tracked[kind].scope if kind in _tracked else Scope.REGISTRY_WRITE


def snapshot(kind: str, subject: object) -> Values:
    """Return what the log keeps of an object, as JSON values."""
    values = {name: getattr(subject, name) for name in _tracked[kind].fields}
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in values.items()}


def register_change_listener(listener: Listener) -> None:
    """Have a function called with every change, in its transaction, and with the ids of the lines that were written."""
    _listeners.append(listener)


def register_change_need(need: Callable[[], int | None]) -> None:
    """Register a function that returns the id of the first line its app still needs, or None: retention spares it."""
    _needs.append(need)


def first_needed_change() -> int | None:
    """Return the first line that must stay, however old it is; None where nobody needs any."""
    return min((first for need in _needs if (first := need()) is not None), default=None)


def record_change(
    *,
    kind: str,
    object_id: str,
    action: ChangeRecord.Action,
    before: Values | None,
    after: Values | None,
    actor: str,
) -> ChangeRecord:
    """Write one line of the log; the caller's transaction makes it true together with the change."""
    written = ChangeRecord.objects.create(
        kind=kind,
        object_id=object_id,
        action=action,
        before=before,
        after=after,
        actor=actor[:160],
        correlation_id=correlation_id(),
        reverts=_reverting.get(),
    )
    _notify_listeners([Change(kind, object_id, action, before, after)], [written.pk])
    return written


def record_changes(changes: Iterable[Change], *, actor: str) -> None:
    """Write a line for each of many changes that one call makes, in one statement."""
    changes = list(changes)
    columns = {name: [getattr(each, name) for each in changes] for name in ("kind", "object_id", "before", "after")}
    columns["action"] = [each.action.value for each in changes]
    reverting = _reverting.get()
    shared = {
        "actor": actor[:160],
        "correlation_id": correlation_id(),
        "reverts_id": None if reverting is None else reverting.pk,
        "at": timezone.now(),
    }
    if changes:
        _notify_listeners(changes, insert_rows(ChangeRecord, columns, same=shared))


def _notify_listeners(changes: Sequence[Change], ids: Sequence[int]) -> None:
    for listener in _listeners:
        listener(changes, ids)


def find_page(kind: str, object_id: str) -> str:
    """Return the address of the page of an object; empty where it has none."""
    name = _tracked[kind].page if kind in _tracked else ""
    return reverse(name, args=[quote(object_id)]) if name else ""


@dataclass(frozen=True)
class RevertPlan:
    current: Values | None
    """What the object is now; None: it is gone."""
    target: Values | None
    """What the revert would make of it."""


def plan_revert(change_id: int) -> RevertPlan:
    """Return what a revert would do, and refuse what it would refuse."""
    with transaction.atomic():
        change = _lock_change(change_id)
        tracked = _tracked.get(change.kind)
        if tracked is None:
            raise NotRevertible
        found = tracked.find(change.object_id)
        current = None if found is None else snapshot(change.kind, found)
        return RevertPlan(current, _values_before(change, current))


def revert_change(*, change_id: int, actor: str) -> ChangeRecord:
    """Take back what one change did, unless something newer has touched the same values."""
    with transaction.atomic():
        change = _lock_change(change_id)
        tracked = _tracked.get(change.kind)
        if tracked is None:
            raise NotRevertible
        current = tracked.find(change.object_id)
        target = _values_before(change, None if current is None else snapshot(change.kind, current))
        token = _reverting.set(change)
        try:
            with transaction.atomic():
                tracked.restore(change.object_id, target, actor)
        except IntegrityError as error:
            raise ChangedSince from error
        finally:
            _reverting.reset(token)
        return ChangeRecord.objects.get(reverts=change)


def refuse_revert(object_id: str, values: Values | None, actor: str) -> None:
    """Stand in as `Tracked.restore` of objects whose changes cannot be taken back."""
    raise NotRevertible


def _lock_change(change_id: int) -> ChangeRecord:
    change = ChangeRecord.objects.select_for_update().filter(pk=change_id).first()
    if change is None:
        raise ChangeNotFound
    if ChangeRecord.objects.filter(reverts=change).exists():
        raise AlreadyReverted
    return change


def _values_before(change: ChangeRecord, current: Values | None) -> Values | None:
    """Work out what the object must become: the values of now, with those this change touched put back."""
    before, after = change.before, change.after
    if before is None or after is None or current is None:
        if current != after:
            raise ChangedSince
        return dict(before) if before is not None else None
    touched = [name for name in after if before.get(name) != after[name]]
    if any(current.get(name) != after[name] for name in touched):
        raise ChangedSince
    return current | {name: before.get(name) for name in touched}
