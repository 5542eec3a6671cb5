"""Queries of processes, and their shape in the API."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TypedDict
from uuid import UUID

from django.db.models import QuerySet

from config.records.models import LogEntry
from messaging.models import ExchangeDatabase
from processes.exchange.errors import ProcessNotFound
from processes.exchange.models import ExchangeProcess, ProcessMessage
from processes.exchange.subjects import PREFIX, subject_of


class Line(TypedDict):
    at: datetime
    text: str


class Entry(TypedDict):
    id: str
    status: str | None


class ProcessAnswer(TypedDict):
    version: int
    id: str
    database: str
    status: str
    started_at: datetime
    ready_at: datetime | None
    ended_at: datetime | None
    messages: list[Entry]
    replies: list[str]
    log: list[Line]
    correlation_id: str


def get_process(process_id: UUID, *, database: ExchangeDatabase | None = None) -> ExchangeProcess:
    """Return a process; that of another database is not found."""
    found = ExchangeProcess.objects.filter(pk=process_id)
    process = (found if database is None else found.filter(database=database)).first()
    if process is None:
        raise ProcessNotFound
    return process


def present_processes(processes: Sequence[ExchangeProcess]) -> list[ProcessAnswer]:
    """Return processes with their messages and logs as the API shows them, in two queries for any number."""
    messages, lines = _messages(processes), _lines(processes)
    return [
        {
            "version": 1,
            "id": str(process.pk),
            "database": process.database_id,
            "status": process.status,
            "started_at": process.started_at,
            "ready_at": process.ready_at,
            "ended_at": process.ended_at,
            "messages": messages.get(process.pk, []),
            "replies": list(process.replies),
            "log": lines.get(subject_of(process), []),
            "correlation_id": process.correlation_id,
        }
        for process in processes
    ]


def in_doubt() -> QuerySet[ExchangeProcess]:
    """Return the processes of which it is not known whether the ERP has committed them."""
    return ExchangeProcess.objects.filter(status=ExchangeProcess.Status.IN_DOUBT)


def _messages(processes: Iterable[ExchangeProcess]) -> dict[UUID, list[Entry]]:
    """Return the messages of each process, without those that API_2 left out."""
    entries = ProcessMessage.objects.filter(process__in=[process.pk for process in processes], is_left_out=False)
    found: dict[UUID, list[Entry]] = {}
    rows = entries.order_by("process", "place").values_list("process_id", "message__public_id", "result")
    for process_id, message, result in rows:
        found.setdefault(process_id, []).append({"id": message, "status": result or None})
    return found


def _lines(processes: Iterable[ExchangeProcess]) -> dict[str, list[Line]]:
    entries = LogEntry.objects.filter(subject__in=[subject_of(process) for process in processes])
    found: dict[str, list[Line]] = {}
    for entry in entries.order_by("id"):
        found.setdefault(entry.subject, []).append({"at": entry.at, "text": entry.words})
    return found


def awaits_operator(subject: str) -> bool:
    """Return whether the process of an alert is still FAILED or in doubt."""
    stuck = (ExchangeProcess.Status.FAILED, ExchangeProcess.Status.IN_DOUBT)
    return ExchangeProcess.objects.filter(pk=subject.removeprefix(PREFIX), status__in=stuck).exists()
