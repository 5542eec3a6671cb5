"""The head of an instance: its row joined with the state of its newest version, and a short-lived cache of heads."""

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

import msgspec
from django.db import connection, transaction

from config.common.database.sql import as_utc, load_engine_sql, postgresql_cursor
from processes.workflows.engine.runner import InstanceState
from processes.workflows.errors import InstanceNotFound
from processes.workflows.models import WorkflowInstance, WorkflowRevision
from processes.workflows.state_storage import join_state

PACKAGE = "processes.workflows"
CACHE_SECONDS = 1.0
CACHE_HEADS = 256
CACHE_BYTES = 16_384
"""Variables of a larger state are not cached."""


@dataclass(frozen=True)
class Head:
    id: UUID
    definition: str
    revision_id: int
    revision: int
    record: str
    status: str
    number: int
    epoch: int
    open_incidents: int
    started_at: datetime
    ended_at: datetime | None
    enterprise: str | None
    at: datetime
    """When this version was made."""
    state_status: str
    state: InstanceState | None
    """None: created, and its start has failed."""
    digests: frozenset[str] = frozenset()
    """The bodies of the state that are already stored."""
    shadow: int | None = None
    """The shadow that hears what the instance is given."""


def get_head(instance_id: UUID, *, lock: bool = False) -> Head:
    """Read an instance with its state; with `lock`, its head cannot move until the transaction ends."""
    if lock:
        # A statement of its own: one that waited for the lock would join the new head with the versions it saw before.
        WorkflowInstance.objects.select_for_update(no_key=True).filter(pk=instance_id).values_list("pk").first()
    statement = load_engine_sql(PACKAGE, "read_head")
    if connection.vendor == "postgresql":
        with postgresql_cursor() as cursor:
            row = cursor.execute(statement, {"instance": instance_id}, prepare=True).fetchone()
    else:
        with connection.cursor() as plain:
            plain.execute(statement, {"instance": instance_id.hex})
            row = plain.fetchone()
    if row is None:
        raise InstanceNotFound
    return _build_head(row)


def find_head(instance_id: UUID, *, lock: bool = False) -> Head | None:
    try:
        return get_head(instance_id, lock=lock)
    except InstanceNotFound:
        return None


def _build_head(row: tuple[Any, ...]) -> Head:
    started_at, ended_at, at, status, skeleton, bodies, shadow = row[8:]
    revision, enterprise = get_revision_facts(row[2])
    parts: dict[str, str] = msgspec.json.decode(bodies) if bodies else {}
    return Head(
        id=row[0] if isinstance(row[0], UUID) else UUID(row[0]),
        definition=row[1],
        revision_id=row[2],
        revision=revision,
        record=row[3],
        status=row[4],
        number=row[5],
        epoch=row[6],
        open_incidents=row[7],
        started_at=_parse_time(started_at),
        ended_at=None if ended_at is None else _parse_time(ended_at),
        enterprise=enterprise,
        at=_parse_time(at),
        state_status=status,
        state=join_state(skeleton, parts) if skeleton else None,
        digests=frozenset(parts),
        shadow=shadow,
    )


@lru_cache(maxsize=4096)
def get_revision_facts(revision_id: int) -> tuple[int, str | None]:
    """Return the number of a revision and the enterprise of its definition; cached, because neither changes."""
    return WorkflowRevision.objects.values_list("number", "definition__enterprise_id").get(pk=revision_id)


def _parse_time(value: datetime | str) -> datetime:
    return datetime.fromisoformat(value) if isinstance(value, str) else as_utc(value)


# The cache saves the next command of an instance its read. A cached head may be out of date at any time; that is safe,
# because a step is written only if the head and the number of open incidents are still those it was planned from, and
# a command that would be refused is tried again on a head that was read.
_cache: OrderedDict[UUID, tuple[float, Head]] = OrderedDict()
_cache_lock = threading.Lock()


def cache_head(head: Head) -> None:
    """Remember a head that this process has just written, once its transaction has committed."""
    if head.state is not None and head.state.get("size", 0) <= CACHE_BYTES and not head.open_incidents:
        transaction.on_commit(lambda: _put(head))


def _put(head: Head) -> None:
    with _cache_lock:
        _cache[head.id] = (time.monotonic(), head)
        while len(_cache) > CACHE_HEADS:
            _cache.popitem(last=False)


def take_cached_head(instance_id: UUID) -> Head | None:
    """Remove the head of an instance from the cache; return it unless it is older than a second."""
    # Removed, not only read: of two commands at once one would be overtaken anyway.
    with _cache_lock:
        found = _cache.pop(instance_id, None)
    if found is None or time.monotonic() - found[0] > CACHE_SECONDS:
        return None
    return found[1]


def clear_head_cache() -> None:
    with _cache_lock:
        _cache.clear()
