"""The exchange processes as the start page shows them; every read is bounded."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Count, Q, QuerySet

from config.common.database.row_lists import Lists, Questions
from messaging.models import Message
from processes.exchange.models import ExchangeProcess, ProcessMessage
from processes.exchange.transitions import LIVE

Status = ExchangeProcess.Status
WATCHED = (*LIVE, Status.IN_DOUBT)
"""Not settled: they are followed until they are."""
ENDED = (Status.DONE, Status.TIMED_OUT, Status.INTERRUPTED, Status.ROLLED_BACK)
MOVING = (Status.CLEANUP, Status.FAILED)
MOST_LIVE, MOST_IN_DOUBT, MOST_ENDED = 200, 20, 10


@dataclass(frozen=True)
class ProcessRow:
    id: UUID
    database: str
    name: str
    """The database's, for people."""
    status: str
    started_at: datetime
    ready_at: datetime | None
    ended_at: datetime | None
    messages: int
    files: int
    """How many files are to be moved, while they are; and how many of them have been."""
    moved: int

    @property
    def is_watched(self) -> bool:
        return self.status in WATCHED

    @property
    def words(self) -> str:
        return str(Status(self.status).label)

    @property
    def since(self) -> datetime:
        return self.ended_at or self.started_at

    @property
    def percent(self) -> int:
        return 100 * self.moved // self.files if self.files else 0


Rows = dict[UUID, ProcessRow]


def ask_processes() -> Questions:
    """Return the queries for what is under way and the newest that ended."""
    return {
        "live": _find(Q(status__in=LIVE), MOST_LIVE),
        "in_doubt": _find(Q(status=Status.IN_DOUBT), MOST_IN_DOUBT),
        "ended": _find(Q(status__in=ENDED), MOST_ENDED),
    }


def read_processes(known: Mapping[UUID, ProcessRow], lists: Lists) -> Rows:
    """Return what is under way, the newest that ended, and the end of each known one that is no longer under way."""
    found = [*lists["live"], *lists["in_doubt"], *lists["ended"]]
    gone = {row.id for row in known.values() if row.is_watched} - {values["id"] for values in found}
    if gone:
        found += _find(Q(pk__in=gone), len(gone))
    messages = _count_messages(found, known)
    files = _count_files([values["id"] for values in found if values["status"] in MOVING])
    rows = [_row(values, messages, files) for values in found]
    return {row.id: row for row in sorted(rows, key=lambda row: (row.started_at, row.id), reverse=True)}


def _find(condition: Q, limit: int) -> "QuerySet[ExchangeProcess, Any]":
    processes = ExchangeProcess.objects.filter(condition).order_by("-started_at", "-id")
    names = ("id", "database_id", "database__name", "status", "started_at", "ready_at", "ended_at")
    found: QuerySet[ExchangeProcess, Any] = processes.values(*names)[:limit]
    return found


def _count_messages(found: Collection[dict[str, Any]], known: Mapping[UUID, ProcessRow]) -> dict[UUID, int]:
    """Count the messages of each; only API_2 changes the number, and only of a process that has just started."""
    counted = {pk: row.messages for pk, row in known.items() if row.status != Status.STARTED}
    wanted = [values["id"] for values in found if values["id"] not in counted]
    if not wanted:
        return counted
    entries = ProcessMessage.objects.filter(process__in=wanted, is_left_out=False).order_by()
    return {**counted, **dict(entries.values_list("process").annotate(messages=Count("pk")))}


def _count_files(moving: Collection[UUID]) -> dict[UUID, tuple[int, int]]:
    if not moving:
        return {}
    held = Message.objects.filter(process__in=moving).order_by().values_list("process")
    rows = held.annotate(files=Count("pk"), moved=Count("pk", filter=Q(moving_from="")))
    return {process: (files, moved) for process, files, moved in rows if process is not None}


def _row(values: dict[str, Any], messages: dict[UUID, int], files: dict[UUID, tuple[int, int]]) -> ProcessRow:
    pk = values["id"]
    total, moved = files.get(pk, (0, 0))
    return ProcessRow(
        id=pk,
        database=values["database_id"],
        name=values["database__name"],
        status=values["status"],
        started_at=values["started_at"],
        ready_at=values["ready_at"],
        ended_at=values["ended_at"],
        messages=messages.get(pk, 0),
        files=total,
        moved=moved,
    )
