"""The page of a process: its progress, its messages and replies with their files, its log, its alerts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from django.http import HttpRequest
from django.utils.safestring import SafeString

from config.records.models import LogEntry
from messaging.admin.presentation import folder_text
from messaging.admin.presentation import status_badge as message_badge
from messaging.models import Message
from notifications.models import Alert
from processes.exchange.admin.presentation import Stop, progress_stops, result_badge
from processes.exchange.models import ExchangeProcess, ProcessMessage
from processes.exchange.services.processes import CONTRADICTION, FAILED, IN_DOUBT
from processes.exchange.subjects import subject_of

ROWS = 200
T = TypeVar("T")


@dataclass(frozen=True)
class Carried:
    entry: ProcessMessage
    badge: SafeString | str
    place: str


@dataclass(frozen=True)
class Written:
    """A reply; it has no row any more when it was deleted."""

    id: str
    message: Message | None
    badge: SafeString | str
    place: str


@dataclass(frozen=True)
class Cargo:
    """The messages of a process to the ERP, and the replies."""

    messages: list[Carried]
    replies: list[Written]

    @property
    def moves(self) -> int:
        """Count the files that are still to be moved."""
        rows = [carried.entry.message for carried in self.messages if not carried.entry.is_left_out]
        rows += [written.message for written in self.replies if written.message is not None]
        return sum(bool(row.moving_from) for row in rows)


@dataclass(frozen=True)
class ProcessPage:
    """Parts that the person may not see are None."""

    way: list[Stop]
    cargo: Cargo
    log: list[LogEntry] | None
    alerts: list[Alert] | None


def build_process_page(request: HttpRequest, process: ExchangeProcess) -> ProcessPage:
    def seen(permission: str, read: Callable[[], T]) -> T | None:
        return read() if request.user.has_perm(permission) else None

    kinds = [IN_DOUBT, FAILED, CONTRADICTION]
    raised = Alert.objects.filter(kind__in=kinds, subject=subject_of(process)).order_by("-id")
    return ProcessPage(
        way=progress_stops(process),
        cargo=collect_cargo([process])[process.pk],
        log=seen("records.view_logentry", lambda: collect_logs([process])[process.pk]),
        alerts=seen("notifications.view_alert", lambda: list(raised[:ROWS])),
    )


def collect_cargo(processes: Sequence[ExchangeProcess]) -> dict[UUID, Cargo]:
    """Return messages and replies by process, in two queries for any number of processes."""
    keys = [process.pk for process in processes]
    entries = ProcessMessage.objects.filter(process__in=keys).select_related("message__device", "message__database")
    carried: dict[UUID, list[Carried]] = {key: [] for key in keys}
    for entry in entries.order_by("process", "place")[: ROWS * len(keys)]:
        carried[entry.process_id].append(Carried(entry, result_badge(entry), folder_text(entry.message)))
    rows = Message.objects.filter(written_by__in=keys).select_related("device", "database")[: ROWS * len(keys)]
    written = {(row.written_by, row.public_id): row for row in rows}
    return {
        process.pk: Cargo(
            carried[process.pk], [_written(id, written.get((process.pk, id))) for id in process.replies[:ROWS]]
        )
        for process in processes
    }


def collect_logs(processes: Sequence[ExchangeProcess]) -> dict[UUID, list[LogEntry]]:
    subjects = {subject_of(process): process.pk for process in processes}
    found: dict[UUID, list[LogEntry]] = {process.pk: [] for process in processes}
    for entry in LogEntry.objects.filter(subject__in=subjects).order_by("id")[: ROWS * len(subjects)]:
        found[subjects[entry.subject]].append(entry)
    return found


def _written(id: str, row: Message | None) -> Written:
    if row is None:
        return Written(id, None, "", "")
    return Written(id, row, message_badge(row), folder_text(row))
