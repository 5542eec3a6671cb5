"""Do the moves that rows owe: the rows are held across the rename, and the progress is recorded after it."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import structlog
from django.db import InterfaceError, InternalError, OperationalError, connection, transaction
from django.db.models.functions import Now
from django.utils.translation import gettext_noop

from config.common.background.ring import ring
from config.common.database.sql import load_engine_sql
from config.common.errors import ApplicationError, VolumeAway
from messaging.files.placement import FileForeign, FileMissing, place_file, place_files
from messaging.models import Message
from messaging.services.file_errors import report_file_error

MOVES = "messages.moves"
BATCH = 100
# A session that was ended from outside, for its idleness as well: that one PostgreSQL calls an internal error.
SESSION_LOST = (OperationalError, InterfaceError, InternalError)

log = structlog.get_logger(__name__)


def move_message(message_id: int, *, even_if_not_owed: bool = False) -> None:
    """Bring one file to its folder. Errors of the disk pass to the caller, and the move stays owed."""
    try:
        _move(message_id, even_if_not_owed=even_if_not_owed)
    except SESSION_LOST as error:
        # The lock may have been lost before the rename: what is right now is decided anew, under a new lock.
        log.warning("message.move_again", message=message_id, error=repr(error))
        connection.close()
        _move(message_id, even_if_not_owed=True)
    except FileMissing:
        # Who lost the lock unawares looks for a file that others may have taken away for good.
        _move(message_id, even_if_not_owed=True)


def move_messages(message_ids: Sequence[int]) -> bool:
    """Bring the files of one process to their folders in one go: one lock, each folder synced once, one commit.

    One after the other they take several times as long, most of it waiting for syncs and commits. Nothing is lost by
    it: rows say where files belong, so whatever a crash or an error leaves half done is found and finished one by one.
    Return False if they must be moved one by one, to see which of them it is.
    """
    try:
        _move_all(message_ids)
    except SESSION_LOST as error:
        log.warning("message.move_again", messages=len(message_ids), error=repr(error))
        connection.close()
        for message_id in message_ids:
            _move(message_id, even_if_not_owed=True)
    except VolumeAway:
        raise
    except (FileMissing, FileForeign, OSError, ApplicationError) as error:
        log.warning("message.moved_alone", messages=len(message_ids), error=repr(error))
        return False
    return True


def move_pending_once() -> bool:
    """Do a batch of the moves that belong to no process. Return whether there were any that could be done.

    Those that cannot be done keep no others waiting: behind a batch of them the next one has its turn.
    """
    owed = Message.objects.exclude(moving_from="").filter(process=None).order_by("id").values_list("pk", flat=True)
    last = 0
    while batch := list(owed.filter(pk__gt=last)[:BATCH]):
        try:
            if any([_try_to_move(message_id) for message_id in batch]):
                return True
        except VolumeAway as away:
            log.warning("message.moves_wait", reason=away.words)
            return False
        last = batch[-1]
    return False


def restore_to_folder(message: Message) -> None:
    """Bring the file of a row that the caller holds to its folder, where no move is owed but it lies elsewhere.

    A caller whose session was ended before that holds nothing any more: what is right now is decided in another one.
    """
    place_file(message)
    if not connection.is_usable():
        with ThreadPoolExecutor(1) as another:
            another.submit(_decide_anew, message.pk).result()


def place_and_record(message: Message) -> None:
    """Bring the file of a row that the caller holds to its folder, and record it."""
    place_file(message)
    with connection.cursor() as cursor:
        cursor.execute(load_engine_sql("messaging", "mark_placed"), [message.pk])


def wake_mover() -> None:
    """Wake the mover after the commit."""
    ring(MOVES)


def _move_all(message_ids: Sequence[int]) -> None:
    with transaction.atomic():
        rows = Message.objects.select_for_update(no_key=True).filter(pk__in=message_ids, file_gone_at=None)
        owed = list(rows.exclude(moving_from="").order_by("pk"))
        place_files(owed)
        Message.objects.filter(pk__in=[message.pk for message in owed]).update(moving_from="", arrived_at=Now())


def _move(message_id: int, *, even_if_not_owed: bool = False) -> None:
    with transaction.atomic():
        message = _hold(message_id)
        if message is None or message.file_gone_at is not None or not (message.moving_from or even_if_not_owed):
            return
        place_and_record(message)


def _decide_anew(message_id: int) -> None:
    """Do so in a thread of its own, which has its own connection."""
    try:
        _move(message_id, even_if_not_owed=True)
    finally:
        connection.close()


def _hold(message_id: int) -> Message | None:
    return next(iter(Message.objects.raw(load_engine_sql("messaging", "hold_message"), [message_id])), None)


def _try_to_move(message_id: int) -> bool:
    """Move one file; a failure is told, and only a file that is nowhere is given up."""
    try:
        move_message(message_id)
    except (FileMissing, FileForeign) as error:
        with transaction.atomic():
            message = Message.objects.select_for_update(no_key=True).get(pk=message_id)
            Message.objects.filter(pk=message_id).update(moving_from="", file_gone_at=Now(), file_missing_at=Now())
            report_file_error(message, gettext_noop("The file %(name)s is in none of its folders"), str(error))
        return True
    except VolumeAway:
        raise
    except (OSError, ApplicationError) as error:
        with transaction.atomic():
            message = Message.objects.get(pk=message_id)
            report_file_error(message, gettext_noop("The file %(name)s cannot be moved: %(reason)s"), str(error))
        return False
    return True
