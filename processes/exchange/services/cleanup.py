"""Cleanup: move the files of settled processes to their folders, then end the processes."""

import hashlib
from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import Case, QuerySet, When
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_noop

from config.audit.log import NewLogEntry, write_log_entries
from config.common.background.ring import ring
from config.common.database.leases import claim
from config.common.errors import ApplicationError, VolumeAway
from config.records.models import LogEntry
from messaging.files.placement import MISSING, FileForeign, FileMissing
from messaging.models import Message
from messaging.services.file_moves import move_message, move_messages
from processes.exchange.models import ExchangeProcess
from processes.exchange.services.processes import (
    FAILED,
    close_process_alerts,
    lock_process,
    raise_process_alert,
    record_process_event,
    write_process_log,
)
from processes.exchange.services.settlement import MOVES
from processes.exchange.subjects import subject_of

Status = ExchangeProcess.Status
BATCH = 10
TOGETHER = 50
# A mover that dies blocks the lane no longer than this. Two at once do no harm: each file's row is locked by one.
LEASE = timedelta(seconds=10)
RETRY = timedelta(seconds=30)

journal = structlog.get_logger(__name__)
MOST_LINES = 20


def move_files_once() -> bool:
    """Move the files of a batch of settled processes; return whether there were any."""
    due = ExchangeProcess.objects.filter(status__in=[Status.CLEANUP, Status.IN_DOUBT], due_at__isnull=False)
    claimed = claim(due, limit=BATCH, lease=LEASE)
    try:
        for process in claimed:
            _move_files(process.pk)
    except VolumeAway as away:
        # None of them has failed: they are tried again after their leases, until the volume is back.
        journal.warning("exchange.moves_wait", processes=len(claimed), reason=away.words)
        return False
    return bool(claimed)


def resume_moves(process: ExchangeProcess) -> None:
    """Let the movers go on with a FAILED process, which the caller's transaction has locked."""
    process.status = Status.CLEANUP
    ExchangeProcess.objects.filter(pk=process.pk).update(status=Status.CLEANUP, due_at=Now())
    close_process_alerts(process)
    ring(MOVES)


def files_to_move(process_id: UUID) -> QuerySet[Message]:
    """Return the messages whose files are to be moved, replies first: people wait for those."""
    is_request = Case(When(direction=Message.Direction.REQUEST, then=1), default=0)
    unmoved = Message.objects.filter(process=process_id).exclude(moving_from="")
    return unmoved.order_by(is_request, "id")


def _move_files(process_id: UUID) -> None:
    """Move every file that can be moved, then finish or fail the process."""
    message_ids = list(files_to_move(process_id).values_list("pk", flat=True))
    failures: dict[int, Exception] = {}
    for start in range(0, len(message_ids), TOGETHER):
        batch = message_ids[start : start + TOGETHER]
        if not move_messages(batch):
            failures |= _move_one_by_one(batch)
    if failures:
        _fail(process_id, failures)
    else:
        _finish(process_id)


def _move_one_by_one(message_ids: Sequence[int]) -> dict[int, Exception]:
    """Move files one at a time; return the errors of those that cannot be moved."""
    failures: dict[int, Exception] = {}
    for message_id in message_ids:
        try:
            # Even if its row says that it is moved: a mover that had lost its locks unawares may have moved it back.
            move_message(message_id, force=True)
        except VolumeAway:
            raise
        except (FileMissing, FileForeign, OSError, ApplicationError) as error:
            failures[message_id] = error
    return failures


def _finish(process_id: UUID) -> None:
    with transaction.atomic():
        process = lock_process(process_id)
        if Message.objects.filter(process=process_id).exclude(moving_from="").exists():
            return  # it was resolved meanwhile: those moves have their own turn
        if process.status == Status.IN_DOUBT:
            ExchangeProcess.objects.filter(pk=process_id).update(due_at=None)
        if process.status != Status.CLEANUP:
            return
        Message.objects.filter(process=process_id).update(process=None)
        at = timezone.now()
        process.status, process.ended_at, process.due_at = Status.DONE, at, None
        process.save(update_fields=["status", "ended_at", "due_at"])
        write_process_log(process, gettext_noop("Done: every file is in its place"))
        record_process_event(process, "done", at=at)


def _fail(process_id: UUID, failures: dict[int, Exception]) -> None:
    """Mark the process FAILED for an operator; one in doubt has its alert already, and is tried again by itself."""
    with transaction.atomic():
        process = lock_process(process_id)
        names = dict(Message.objects.filter(pk__in=list(failures)).values_list("pk", "public_id"))
        # A reply without a row was deleted: the process was resolved as not committed meanwhile.
        reasons = {
            names[pk]: MISSING if isinstance(error, FileMissing) else f"{type(error).__name__}: {error}"
            for pk, error in failures.items()
            if pk in names
        }
        if not reasons:
            return
        _log_failures(process, reasons)
        if process.status == Status.IN_DOUBT:
            ExchangeProcess.objects.filter(pk=process_id).update(due_at=Now() + RETRY)
        if process.status != Status.CLEANUP:
            return
        process.status, process.due_at = Status.FAILED, None
        process.save(update_fields=["status", "due_at"])
        _report_failure(process, reasons)


def _log_failures(process: ExchangeProcess, reasons: dict[str, str]) -> None:
    """Write a log line for each file; for a process in doubt, which is tried until somebody decides, once a day."""
    template = gettext_noop("The file of message %(message)s cannot be moved: %(reason)s")
    today = f"{timezone.now():%Y%m%d}" if process.status == Status.IN_DOUBT else ""
    lines = []
    for message, reason in sorted(reasons.items())[:MOST_LINES]:
        key = f"{process.pk} {message} {today}"
        fold = hashlib.sha256(key.encode()).hexdigest() if today else ""
        data = {"database": process.database_id, "message": message, "reason": reason}
        lines.append(NewLogEntry(LogEntry.Level.ERROR, "exchange", template, data, subject_of(process), fold=fold))
    write_log_entries(sorted(lines, key=lambda line: line.fold))
    if len(reasons) > MOST_LINES:
        rest = len(reasons) - MOST_LINES
        write_process_log(
            process, gettext_noop("Other files that cannot be moved: %(count)s"), level=LogEntry.Level.ERROR, count=rest
        )


def _report_failure(process: ExchangeProcess, reasons: dict[str, str]) -> None:
    name, reason = next(iter(reasons.items()))
    title = gettext_noop("ERP “%(database)s”: the file of message %(message)s cannot be moved: %(reason)s")
    if len(reasons) > 1:
        title = gettext_noop(
            "ERP “%(database)s”: %(count)s files cannot be moved, the first of them that of message %(message)s: "
            "%(reason)s"
        )
    raise_process_alert(FAILED, process, title, message=name, reason=reason, count=len(reasons))
    record_process_event(process, "failed", at=timezone.now(), message=name, reason=reason)
