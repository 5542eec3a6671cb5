"""Go on with a FAILED process without the files that are nowhere: the operator's way out, once nobody can restore them.

A request that the ERP has committed stays what the ERP made of it: only the copy in Log or Error is missing. A reply
without its file has no content that its device could get: it becomes incorrect, and its receipt says so.
"""

from collections.abc import Collection, Iterable
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext, gettext_noop

from config.audit.changes import record_change
from config.audit.log import NewLogEntry, write_log_entries
from config.common.errors import VolumeAway
from config.records.models import ChangeRecord, LogEntry
from messaging.files.placement import FileForeign, FileMissing, find_files
from messaging.models import Message
from messaging.services.file_moves import place_and_record
from messaging.services.readability import UNREADABLE
from messaging.subjects import subject_of
from processes.exchange.errors import FilesFound, ProcessNotFailed
from processes.exchange.models import ExchangeProcess
from processes.exchange.services.cleanup import files_to_move, resume_moves
from processes.exchange.services.holding import hold_process
from processes.exchange.services.operating import KIND
from processes.exchange.services.telling import log

MOST_NAMED = 20
GONE_ON = gettext_noop("%(actor)s goes on without %(count)s files (%(messages)s): %(why)s")
LOST = gettext_noop("The file of message %(message)s is lost; %(actor)s goes on without it: %(why)s")


def find_lost_files(process: ExchangeProcess) -> list[Message]:
    """Return the messages of a FAILED process whose files are in none of their folders now."""
    if process.status != ExchangeProcess.Status.FAILED:
        return []
    owed = files_to_move(process.pk).select_related("device", "database")
    return [message for message in owed if _is_nowhere(message)]


def go_on_without_files(*, process_id: UUID, messages: Collection[int], reason: str, actor: str) -> None:
    """Give up the files of these messages where they are still nowhere, and let the movers finish the process.

    Only those that the operator was shown: another that is found missing meanwhile fails again, and is told again.
    """
    with transaction.atomic():
        process = hold_process(process_id)
        if process.status != ExchangeProcess.Status.FAILED:
            raise ProcessNotFailed
        named = files_to_move(process_id).select_for_update(no_key=True).filter(pk__in=list(messages))
        lost = [message for message in named if _cannot_be_placed(message)]
        if not lost:
            raise FilesFound
        _give_up(lost, reason=reason)
        _record(process, lost, reason=reason, actor=actor)
        resume_moves(process)


def _is_nowhere(message: Message) -> bool:
    try:
        return not find_files(message)
    except (FileForeign, VolumeAway):
        return False


def _cannot_be_placed(message: Message) -> bool:
    """Look for the file while its row is held, as a mover does: what is found goes to its place."""
    try:
        place_and_record(message)
    except FileMissing:
        return True
    except (FileForeign, OSError):
        return False  # it is there, and the movers will say what is wrong with it
    return False


def _give_up(lost: Iterable[Message], *, reason: str) -> None:
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


def _record(process: ExchangeProcess, lost: list[Message], *, reason: str, actor: str) -> None:
    names = [message.public_id for message in lost]
    said = {"actor": actor, "why": reason}
    log(
        process,
        GONE_ON,
        level=LogEntry.Level.WARNING,
        count=len(names),
        messages=", ".join(names[:MOST_NAMED]) + ("…" if len(names) > MOST_NAMED else ""),
        **said,
    )
    write_log_entries(
        NewLogEntry(
            LogEntry.Level.WARNING,
            LogEntry.Kind.FILE,
            LOST,
            {"message": message.public_id, "database": message.database_id, **said},
            subject_of(message),
            correlation_id=message.correlation_id,
        )
        for message in lost
    )
    record_change(
        kind=KIND,
        object_id=str(process.pk),
        action=ChangeRecord.Action.CHANGED,
        before={"status": process.status},
        after={"status": ExchangeProcess.Status.CLEANUP.value, "without": names, "reason": reason},
        actor=actor,
    )
