"""What an operator decides about a process: to end it, to settle its doubt, to retry it, to go on without lost files.

A request that the ERP has committed stays what the ERP made of it when its file is lost: only the copy in Log or Error
is missing. A reply without its file has no content that its device could get: it becomes incorrect, and its receipt
says so.
"""

from collections.abc import Collection, Iterable
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop

from config.audit.changes import record_change
from config.audit.log import NewLogEntry, write_log_entries
from config.common.errors import VolumeAway
from config.common.times import truncate_to_milliseconds
from config.records.models import ChangeRecord, LogEntry
from messaging.files.placement import FileForeign, FileMissing, find_files
from messaging.models import Message
from messaging.services.file_moves import place_and_record
from messaging.services.readability import UNREADABLE
from messaging.subjects import subject_of
from processes.exchange.errors import FilesFound, ProcessNotFailed, ProcessNotStarted, ProcessSettled
from processes.exchange.models import ExchangeProcess
from processes.exchange.services.cleanup import files_to_move, resume_moves
from processes.exchange.services.processes import lock_process, write_process_log
from processes.exchange.services.settlement import abort_process, settle_committed, settle_rolled_back

Status = ExchangeProcess.Status
KIND = "process"
MOST_NAMED = 20
COMMITTED = gettext_noop("%(actor)s reports that the ERP has committed: %(why)s")
NOT_COMMITTED = gettext_noop("%(actor)s reports that the ERP has not committed: %(why)s")
ENDED = gettext_noop("Ended by staff: %(text)s")
GONE_ON = gettext_noop("%(actor)s continues without some files (%(count)s: %(messages)s): %(why)s")
LOST = gettext_noop("The file of message %(message)s is lost; %(actor)s continues without it: %(why)s")


def end_by_operator(*, process_id: UUID, reason: str, actor: str) -> None:
    """End a STARTED process whose ERP is known to be gone; a late API_3 hears CANCELLED, so nothing is done twice."""
    with transaction.atomic():
        process = lock_process(process_id)
        if process.status != Status.STARTED:
            raise ProcessNotStarted
        before = {"status": process.status}
        at = truncate_to_milliseconds(timezone.now())
        abort_process(process, Status.INTERRUPTED, at=at, template=ENDED, text=f"{actor}: {reason}")
        _record(process, before, {"status": process.status, "reason": reason}, actor=actor)


def resolve_by_operator(*, process_id: UUID, committed: bool, reason: str, actor: str) -> None:
    """Settle a process in doubt by what the operator found; of two who do so at once the second is refused."""
    with transaction.atomic():
        process = lock_process(process_id)
        if process.status != Status.IN_DOUBT:
            raise ProcessSettled
        before = {"status": process.status, "decision": process.decision}
        text = COMMITTED if committed else NOT_COMMITTED
        write_process_log(process, text, level=LogEntry.Level.WARNING, actor=actor, why=reason)
        settle = settle_committed if committed else settle_rolled_back
        settle(process, at=truncate_to_milliseconds(timezone.now()), how=actor)
        after = {"status": process.status, "decision": process.decision, "reason": reason}
        _record(process, before, after, actor=actor)


def retry_process(*, process_id: UUID, actor: str) -> None:
    """Let the movers go on with a FAILED process: the operator has put right what kept the files from being moved."""
    with transaction.atomic():
        process = lock_process(process_id)
        if process.status != Status.FAILED:
            raise ProcessNotFailed
        write_process_log(process, gettext_noop("%(actor)s retries moving the files"), actor=actor)
        resume_moves(process)


def find_lost_files(process: ExchangeProcess) -> list[Message]:
    """Return the messages of a FAILED process whose files are in none of their folders now."""
    if process.status != Status.FAILED:
        return []
    unmoved = files_to_move(process.pk).select_related("device", "database")
    return [message for message in unmoved if _is_nowhere(message)]


def go_on_without_files(*, process_id: UUID, messages: Collection[int], reason: str, actor: str) -> None:
    """Give up the files of these messages where they are still nowhere, and let the movers finish the process.

    Only those that the operator was shown: another that is found missing meanwhile fails the process again.
    """
    with transaction.atomic():
        process = lock_process(process_id)
        if process.status != Status.FAILED:
            raise ProcessNotFailed
        named = files_to_move(process_id).select_for_update(no_key=True).filter(pk__in=list(messages))
        lost = [message for message in named if _cannot_be_placed(message)]
        if not lost:
            raise FilesFound
        _give_up_files(lost, reason=reason)
        _log_lost(process, lost, reason=reason, actor=actor)
        after = {
            "status": Status.CLEANUP.value,
            "without": [message.public_id for message in lost],
            "reason": reason,
        }
        _record(process, {"status": process.status}, after, actor=actor)
        resume_moves(process)


def _is_nowhere(message: Message) -> bool:
    try:
        return not find_files(message)
    except (FileForeign, VolumeAway):
        return False


def _cannot_be_placed(message: Message) -> bool:
    """Look for the file while its row is locked, as a mover does: what is found goes to its place."""
    try:
        place_and_record(message)
    except FileMissing:
        return True
    except (FileForeign, OSError):
        return False  # it is there, and the movers will say what is wrong with it
    return False


def _give_up_files(lost: Iterable[Message], *, reason: str) -> None:
    rows = Message.objects.filter(pk__in=[message.pk for message in lost])
    rows.update(moving_from="", file_gone_at=Now(), file_missing_at=Now())
    rows.filter(direction=Message.Direction.REPLY).update(
        status=Message.Status.INCORRECT,
        folder=Message.Folder.ERROR,
        error_text=gettext("The file of this message is lost: %(reason)s") % {"reason": reason},
        error_code=UNREADABLE,
        settled_at=Now(),
        updated_at=Now(),
    )


def _log_lost(process: ExchangeProcess, lost: list[Message], *, reason: str, actor: str) -> None:
    names = [message.public_id for message in lost]
    words = {"actor": actor, "why": reason}
    write_process_log(
        process,
        GONE_ON,
        level=LogEntry.Level.WARNING,
        count=len(names),
        messages=", ".join(names[:MOST_NAMED]) + ("…" if len(names) > MOST_NAMED else ""),
        **words,
    )
    write_log_entries(
        NewLogEntry(
            LogEntry.Level.WARNING,
            LogEntry.Kind.FILE,
            LOST,
            {"message": message.public_id, "database": message.database_id, **words},
            subject_of(message),
            correlation_id=message.correlation_id,
        )
        for message in lost
    )


def _record(process: ExchangeProcess, before: dict[str, Any], after: dict[str, Any], *, actor: str) -> None:
    """Write the operator's decision to the change log."""
    record_change(
        kind=KIND,
        object_id=str(process.pk),
        action=ChangeRecord.Action.CHANGED,
        before=before,
        after=after,
        actor=actor,
    )
