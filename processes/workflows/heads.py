"""An instance as it is now: its row and the state of its head."""

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

import msgspec
from django.db import connection

from config.common.database.sql import as_utc, load_engine_sql, postgresql_cursor
from processes.workflows.engine.runner import InstanceState
from processes.workflows.errors import InstanceNotFound
from processes.workflows.models import WorkflowInstance, WorkflowRevision
from processes.workflows.state_storage import join_state

PACKAGE = "processes.workflows"


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
    """The parts of the state that are kept apart."""


def get_head(instance_id: UUID, *, lock: bool = False) -> Head:
    """Read an instance; with a lock nobody moves its head until the transaction ends.

    The lock is a statement of its own: one that waited for it would join the new head with the versions of before.
    """
    if lock:
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
    return _head(row)


def find_head(instance_id: UUID, *, lock: bool = False) -> Head | None:
    try:
        return get_head(instance_id, lock=lock)
    except InstanceNotFound:
        return None


def _head(row: tuple[Any, ...]) -> Head:
    started_at, ended_at, at, status, skeleton, bodies = row[8:]
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
        started_at=_time(started_at),
        ended_at=None if ended_at is None else _time(ended_at),
        enterprise=enterprise,
        at=_time(at),
        state_status=status,
        state=join_state(skeleton, parts) if skeleton else None,
        digests=frozenset(parts),
    )


@lru_cache(maxsize=4096)
def get_revision_facts(revision_id: int) -> tuple[int, str | None]:
    """Give the number of a revision and the enterprise it belongs to: neither changes."""
    return WorkflowRevision.objects.values_list("number", "definition__enterprise_id").get(pk=revision_id)


def _time(value: datetime | str) -> datetime:
    return datetime.fromisoformat(value) if isinstance(value, str) else as_utc(value)
