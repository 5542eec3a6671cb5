"""Bring the files of settled processes to their places, and end the processes."""

from datetime import timedelta
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_noop

from config.common.errors import ApplicationError
from config.common.leases import claim
from config.common.ring import ring
from config.records.models import LogEntry
from messaging.files.placing import FileForeign, FileMissing
from messaging.models import Message
from messaging.services.moving import move_message, move_together
from processes.exchange.errors import ProcessNotFailed
from processes.exchange.models import ExchangeProcess
from processes.exchange.services.holding import hold_process
from processes.exchange.services.settling import MOVES
from processes.exchange.services.telling import FAILED, alert, heal_alerts, log, tell

Status = ExchangeProcess.Status
BATCH = 10
TOGETHER = 50
# A mover that dies holds up the lane no longer than this. Two at once do no harm: each file's row is held by one.
LEASE = timedelta(seconds=10)
RETRY = timedelta(seconds=30)

journal = structlog.get_logger(__name__)


def move_files_once() -> bool:
    """Move the files of a few processes that are settled. Return whether there were any."""
    due = ExchangeProcess.objects.filter(status__in=[Status.CLEANUP, Status.IN_DOUBT], due_at__isnull=False)
    claimed = claim(due, limit=BATCH, lease=LEASE)
    for process in claimed:
        _move_files(process.pk)
    return bool(claimed)


def retry_process(*, process_id: UUID, actor: str) -> None:
    """The operator has put right what kept the files from being moved: go on from there."""
    with transaction.atomic():
        process = hold_process(process_id)
        if process.status != Status.FAILED:
            raise ProcessNotFailed
        process.status = Status.CLEANUP
        ExchangeProcess.objects.filter(pk=process_id).update(status=Status.CLEANUP, due_at=Now())
        heal_alerts(process)
        log(process, gettext_noop("Moving the files is tried again by %(actor)s"), actor=actor)
        ring(MOVES)


def _move_files(process_id: UUID) -> None:
    owed = Message.objects.filter(process=process_id).exclude(moving_from="")
    message_ids = list(owed.order_by("id").values_list("pk", flat=True))
    if all(move_together(message_ids[start : start + TOGETHER]) for start in range(0, len(message_ids), TOGETHER)):
        _finish(process_id)
        return
    for message_id in message_ids:
        try:
            # Even if others have done it: together with them it may have been tried by one who had lost its rows.
            move_message(message_id, even_if_not_owed=True)
        except (FileMissing, FileForeign, OSError, ApplicationError) as error:
            _fail(process_id, message_id, error)
            return
    _finish(process_id)


def _finish(process_id: UUID) -> None:
    with transaction.atomic():
        process = hold_process(process_id)
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
        log(process, gettext_noop("Done: every file is in its place"))
        tell(process, "done", at=at)


def _fail(process_id: UUID, message_id: int, error: Exception) -> None:
    """Leave the process to the operator; one in doubt has told of itself already, and is tried again by itself."""
    with transaction.atomic():
        process = hold_process(process_id)
        name = Message.objects.filter(pk=message_id).values_list("public_id", flat=True).first()
        if name is None:
            return  # the process was resolved meanwhile, and this reply taken back
        reason = f"{type(error).__name__}: {error}"
        log(
            process,
            gettext_noop("The file of message %(message)s cannot be moved: %(reason)s"),
            level=LogEntry.Level.ERROR,
            message=name,
            reason=reason,
        )
        if process.status == Status.IN_DOUBT:
            ExchangeProcess.objects.filter(pk=process_id).update(due_at=Now() + RETRY)
        if process.status != Status.CLEANUP:
            return
        process.status, process.due_at = Status.FAILED, None
        process.save(update_fields=["status", "due_at"])
        title = gettext_noop(
            "Process %(process)s of %(database)s cannot move the file of message %(message)s: %(reason)s"
        )
        alert(FAILED, process, title, message=name, reason=reason)
        tell(process, "failed", at=timezone.now(), message=name, reason=reason)
