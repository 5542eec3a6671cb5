"""Settle a process: committed, rolled back, in doubt, given up. Each runs in a transaction that holds the process."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext_noop

from config.common.background.ring import ring
from config.common.errors import ApplicationError, VolumeAway
from config.records.models import LogEntry
from messaging.files.drafts import drop_drafts
from messaging.files.placement import FileForeign, withdraw_file
from messaging.models import Message
from messaging.services.file_errors import report_file_error
from messaging.services.file_moves import wake_mover
from processes.exchange.models import ExchangeProcess
from processes.exchange.services.freeing import (
    Folder,
    Result,
    Status,
    give_back,
    give_back_after_failure,
    give_back_after_setback,
    heal_setbacks,
    replies_of,
    requests_of,
    said_of,
    send_to,
)
from processes.exchange.services.telling import IN_DOUBT, alert, heal_alerts, log, tell

MOVES = "exchange.moves"
Decision, ProcessStatus = ExchangeProcess.Decision, ExchangeProcess.Status


def commit(process: ExchangeProcess, *, at: datetime, how: str) -> None:
    """The ERP has committed: say where each file belongs, and let the movers bring it there."""
    results = set(process.entries.filter(is_left_out=False).values_list("result", flat=True))
    heal_setbacks(requests_of(process, Result.PROCESSED, Result.INCORRECT))
    settled = {"settled_at": at, "setbacks": 0, "is_postponed": False, "isolation": 0}
    processed = requests_of(process, Result.PROCESSED)
    send_to(Folder.LOG, processed, status=Status.PROCESSED, error_text="", error_code="", **settled)
    if Result.INCORRECT in results:
        incorrect, said = requests_of(process, Result.INCORRECT), _said(process)
        send_to(Folder.ERROR, incorrect, status=Status.INCORRECT, **said, **settled)
    if Result.DEADLOCK in results:
        give_back_after_setback(requests_of(process, Result.DEADLOCK))
    if process.replies:
        send_to(Folder.MESSAGES, replies_of(process), status=Status.WAITING)
    _close_doubt(process)
    process.ended_at = None
    _write(process, ProcessStatus.CLEANUP, decision=Decision.COMMITTED, due_at=Now())
    log(process, gettext_noop("The ERP has committed (%(how)s); the files are moved"), how=how)
    ring(MOVES)


def roll_back(
    process: ExchangeProcess, *, at: datetime, how: str, error_text: str = "", is_setback: bool = False
) -> None:
    """The ERP has not committed: offer the messages again and take the replies back.

    Where the ERP itself says so one of them may be why, so it is a setback for all of them.
    """
    if is_setback:
        give_back_after_failure(requests_of(process), error_text=error_text)
    else:
        give_back(requests_of(process), error_text=error_text)
    _take_back(list(replies_of(process).select_for_update()))
    _close_doubt(process)
    process.ended_at = at
    _write(process, ProcessStatus.ROLLED_BACK, decision=Decision.NOT_COMMITTED, due_at=None)
    text = gettext_noop("The ERP has not committed (%(how)s): %(error)s")
    log(process, text, level=LogEntry.Level.WARNING, how=how, error=error_text)
    wake_mover()


def doubt(process: ExchangeProcess, *, at: datetime) -> None:
    """Nobody knows whether the ERP has committed: put the files aside until it is known, and tell staff."""
    send_to(Folder.UNKNOWN, requests_of(process, Result.PROCESSED), status=Status.IN_DOUBT)
    send_to(
        Folder.ERROR,
        requests_of(process, Result.INCORRECT),
        status=Status.IN_DOUBT,
        **_said(process),
    )
    give_back_after_setback(requests_of(process, Result.DEADLOCK))
    send_to(Folder.UNKNOWN, replies_of(process), status=Status.IN_DOUBT)
    process.ended_at = at
    _write(process, ProcessStatus.IN_DOUBT, due_at=Now())
    alert(
        IN_DOUBT, process, gettext_noop("Did the ERP %(database)s commit process %(process)s? It did not say in time")
    )
    log(process, gettext_noop("No word from the ERP in time: the process is in doubt"), level=LogEntry.Level.ERROR)
    tell(process, "in_doubt", at=at)
    ring(MOVES)


def give_up(
    process: ExchangeProcess, status: str, *, at: datetime, template: str, text: str = "", was_silent: bool = False
) -> None:
    """End a process that was never ready to commit; its messages are offered again.

    Where the ERP fell silent one of them may be why, so it is a setback for all of them.
    """
    if was_silent:
        give_back_after_failure(requests_of(process))
    else:
        give_back(requests_of(process))
    process.ended_at = at
    _write(process, status, due_at=None)
    log(process, template, level=LogEntry.Level.WARNING, text=text)


def _said(process: ExchangeProcess) -> dict[str, Any]:
    return {column: said_of(process, column) for column in ("error_text", "error_code")}


def _close_doubt(process: ExchangeProcess) -> None:
    if process.status == ProcessStatus.IN_DOUBT:
        heal_alerts(process)


def _write(process: ExchangeProcess, status: str, *, due_at: Now | None, decision: str = "") -> None:
    process.status, process.decision = status, decision
    process.due_at = due_at
    process.fence += 1
    process.save(update_fields=["status", "due_at", "decision", "ended_at", "fence"])


def _take_back(replies: Sequence[Message]) -> None:
    """Delete replies: their files become drafts while the rows are held, so that a new reply may have the same name."""
    for reply in replies:
        try:
            withdraw_file(reply)
        except VolumeAway:
            raise  # the files would come back without rows, and nobody could say whose they are
        except (OSError, ApplicationError, FileForeign) as error:
            report_file_error(reply, gettext_noop("The file %(name)s cannot be deleted: %(reason)s"), str(error))
    Message.objects.filter(pk__in=[reply.pk for reply in replies]).delete()
    transaction.on_commit(lambda: drop_drafts(replies), robust=True)
