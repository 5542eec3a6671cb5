"""Settle a process: committed, rolled back, in doubt, aborted. The caller's transaction has locked it.

Settling only writes rows: which folder each file belongs in, and which messages are offered again. The files follow
(`cleanup.py`, and the mover of `messaging`).
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Case, CharField, F, IntegerField, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Cast, Coalesce, Now
from django.utils.translation import gettext_noop

from config.common.background.ring import ring
from config.common.errors import ApplicationError, VolumeAway
from config.records.models import LogEntry
from messaging.files.drafts import drop_drafts
from messaging.files.placement import FileForeign, withdraw_file
from messaging.models import Message
from messaging.services.file_errors import report_file_error
from messaging.services.file_moves import wake_mover
from messaging.services.set_aside import SETBACKS
from messaging.subjects import subject_of
from notifications.services.alerts import close_alert, raise_alert
from processes.exchange.models import ExchangeProcess, ProcessMessage
from processes.exchange.services.processes import (
    IN_DOUBT,
    close_process_alerts,
    raise_process_alert,
    record_process_event,
    write_process_log,
)

MOVES = "exchange.moves"
Decision, ProcessStatus = ExchangeProcess.Decision, ExchangeProcess.Status
Folder, Status, Result = Message.Folder, Message.Status, ProcessMessage.Result
PATIENCE = 5
"""After so many setbacks running a message is offered behind the others."""
# The columns hold no more than 32,767, and nobody need count so far.
MOST_SETBACKS = 30_000
MOST_ISOLATION = 20
OVERDUE = Q(setbacks__gte=PATIENCE - 1)
"""The next setback is one too many."""


def settle_committed(process: ExchangeProcess, *, at: datetime, how: str) -> None:
    """Record that the ERP has committed: assign each file its folder, and wake the movers."""
    results = set(process.entries.filter(is_left_out=False).values_list("result", flat=True))
    for message in requests_of(process, Result.PROCESSED, Result.INCORRECT).filter(setbacks__gte=PATIENCE):
        close_alert(SETBACKS, subject_of(message), gettext_noop("the message has been processed"))
    settled = {"settled_at": at, "setbacks": 0, "is_postponed": False, "isolation": 0}
    processed = requests_of(process, Result.PROCESSED)
    _assign_folder(Folder.LOG, processed, status=Status.PROCESSED, error_text="", error_code="", **settled)
    if Result.INCORRECT in results:
        incorrect, errors = requests_of(process, Result.INCORRECT), _errors_of(process)
        _assign_folder(Folder.ERROR, incorrect, status=Status.INCORRECT, **errors, **settled)
    if Result.DEADLOCK in results:
        requeue_after_setback(requests_of(process, Result.DEADLOCK))
    if process.replies:
        _assign_folder(Folder.MESSAGES, _replies_of(process), status=Status.WAITING)
    _close_doubt(process)
    process.ended_at = None
    _write_status(process, ProcessStatus.CLEANUP, decision=Decision.COMMITTED, due_at=Now())
    write_process_log(process, gettext_noop("The ERP has committed (%(how)s); the files are being moved"), how=how)
    ring(MOVES)


def settle_rolled_back(
    process: ExchangeProcess, *, at: datetime, how: str, error_text: str = "", is_setback: bool = False
) -> None:
    """Record that the ERP has not committed: offer the messages again and delete the replies.

    Where the ERP itself says so one of the messages may be why, so it is a setback for all of them.
    """
    if is_setback:
        _requeue_after_failure(requests_of(process), error_text=error_text)
    else:
        _requeue(requests_of(process), error_text=error_text)
    _delete_replies(list(_replies_of(process).select_for_update()))
    _close_doubt(process)
    process.ended_at = at
    _write_status(process, ProcessStatus.ROLLED_BACK, decision=Decision.NOT_COMMITTED, due_at=None)
    text = gettext_noop("The ERP has not committed (%(how)s): %(error)s")
    write_process_log(process, text, level=LogEntry.Level.WARNING, how=how, error=error_text)
    wake_mover()


def put_in_doubt(process: ExchangeProcess, *, at: datetime) -> None:
    """Put the files aside until it is known whether the ERP has committed, and alert staff."""
    _assign_folder(Folder.UNKNOWN, requests_of(process, Result.PROCESSED), status=Status.IN_DOUBT)
    incorrect = requests_of(process, Result.INCORRECT)
    _assign_folder(Folder.ERROR, incorrect, status=Status.IN_DOUBT, **_errors_of(process))
    requeue_after_setback(requests_of(process, Result.DEADLOCK))
    _assign_folder(Folder.UNKNOWN, _replies_of(process), status=Status.IN_DOUBT)
    process.ended_at = at
    _write_status(process, ProcessStatus.IN_DOUBT, due_at=Now())
    title = gettext_noop("ERP “%(database)s” did not confirm a process")
    raise_process_alert(IN_DOUBT, process, title)
    text = gettext_noop("The ERP did not respond in time: the process is in doubt")
    write_process_log(process, text, level=LogEntry.Level.ERROR)
    record_process_event(process, "in_doubt", at=at)
    ring(MOVES)


def abort_process(
    process: ExchangeProcess, status: str, *, at: datetime, template: str, text: str = "", was_silent: bool = False
) -> None:
    """End a process that was never ready to commit; its messages are offered again.

    Where the ERP fell silent one of them may be why, so it is a setback for all of them.
    """
    if was_silent:
        _requeue_after_failure(requests_of(process))
    else:
        _requeue(requests_of(process))
    process.ended_at = at
    _write_status(process, status, due_at=None)
    write_process_log(process, template, level=LogEntry.Level.WARNING, text=text)


def requests_of(process: ExchangeProcess, *results: str) -> QuerySet[Message]:
    """Return the requests in a process, of these results alone if any are named."""
    requests = Message.objects.filter(process=process.pk, direction=Message.Direction.REQUEST)
    if not results:
        return requests
    named = ProcessMessage.objects.filter(process=process, result__in=results, is_left_out=False)
    return requests.filter(pk__in=named.values("message"))


def requeue_after_setback(messages: QuerySet[Message]) -> None:
    """Offer messages again that were left out or deadlocked; from the fifth time running behind the others."""
    keys = _keys(messages)
    Message.objects.filter(pk__in=keys).update(status=Status.WAITING, process=None, updated_at=Now())
    _count_setback(keys)


def _requeue_after_failure(messages: QuerySet[Message], *, error_text: str = "") -> None:
    """Offer messages again with which the ERP fell silent or rolled back: one of them may be why.

    From the fifth time running they stand behind the others, and each time in a list half as long: whichever it is
    will soon be alone, behind those that it held up.
    """
    keys = _keys(messages)
    _requeue(Message.objects.filter(pk__in=keys), error_text=error_text)
    more = When(OVERDUE, then=_one_more("isolation", MOST_ISOLATION))
    _count_setback(keys, isolation=Case(more, default=F("isolation"), output_field=IntegerField()))


def _requeue(messages: QuerySet[Message], *, error_text: str = "") -> None:
    """Offer messages again."""
    changes = {"status": Status.WAITING, "process": None, "error_text": error_text, "error_code": ""}
    _assign_folder(Folder.MESSAGES, messages, **changes)


def _assign_folder(folder: str, messages: QuerySet[Message], **changes: Any) -> None:
    """Write which folder the files belong in; those that lie elsewhere are due to be moved (`moving_from`)."""
    lies_in = Case(When(moving_from="", then=F("folder")), default=F("moving_from"))
    moving_from = Case(When(_lies_in=Value(folder), then=Value("")), default=F("_lies_in"))
    messages.annotate(_lies_in=lies_in).update(
        moving_from=moving_from, folder=folder, arrived_at=Now(), updated_at=Now(), **changes
    )


def _keys(messages: QuerySet[Message]) -> list[int]:
    """Return the keys before the messages are requeued: afterwards their process does not lead to them."""
    return list(messages.values_list("pk", flat=True))


def _count_setback(keys: list[int], **changes: Any) -> None:
    Message.objects.filter(pk__in=keys).update(
        setbacks=_one_more("setbacks", MOST_SETBACKS),
        is_postponed=Case(When(OVERDUE, then=Value(True)), default=F("is_postponed")),
        **changes,
    )
    for message in Message.objects.filter(pk__in=keys, setbacks__gte=PATIENCE):
        title = gettext_noop(
            "Message %(message)s to %(database)s was left out, deadlocked, rolled back or not answered %(times)s "
            "times in a row"
        )
        detail = {"message": message.public_id, "database": message.database_id, "times": message.setbacks}
        raise_alert(SETBACKS, subject_of(message), title, detail)


def _one_more(column: str, most: int) -> Case:
    counted = When(**{f"{column}__gte": most}, then=F(column))
    return Case(counted, default=F(column) + 1, output_field=IntegerField())


def _errors_of(process: ExchangeProcess) -> dict[str, Any]:
    """Return what the ERP said of each message, as columns for an update."""
    entry = ProcessMessage.objects.filter(process=process, message=OuterRef("pk"))
    return {
        column: Coalesce(Cast(Subquery(entry.values(column)[:1]), CharField()), Value(""))
        for column in ("error_text", "error_code")
    }


def _replies_of(process: ExchangeProcess) -> QuerySet[Message]:
    return Message.objects.filter(process=process.pk, direction=Message.Direction.REPLY)


def _close_doubt(process: ExchangeProcess) -> None:
    if process.status == ProcessStatus.IN_DOUBT:
        close_process_alerts(process)


def _write_status(process: ExchangeProcess, status: str, *, due_at: Now | None, decision: str = "") -> None:
    process.status, process.decision = status, decision
    process.due_at = due_at
    process.fence += 1  # whoever has claimed the process before finds that it has gone on
    process.save(update_fields=["status", "due_at", "decision", "ended_at", "fence"])


def _delete_replies(replies: Sequence[Message]) -> None:
    """Delete replies: their files become drafts while the rows are locked, so that a new reply may have the name."""
    for reply in replies:
        try:
            withdraw_file(reply)
        except VolumeAway:
            raise  # the files would come back without rows, and nobody could say whose they are
        except (OSError, ApplicationError, FileForeign) as error:
            report_file_error(reply, gettext_noop("The file %(name)s cannot be deleted: %(reason)s"), str(error))
    Message.objects.filter(pk__in=[reply.pk for reply in replies]).delete()
    transaction.on_commit(lambda: drop_drafts(replies), robust=True)
