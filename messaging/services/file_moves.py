"""Move message files to the folders of their rows: the row is locked across the rename, and updated after it.

A row with `moving_from` has a pending move. A crash at any point leaves it pending; the next attempt finds the file.
"""

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
# A session that was ended from outside. For its idleness PostgreSQL calls that an internal error.
SESSION_LOST = (OperationalError, InterfaceError, InternalError)

log = structlog.get_logger(__name__)


def move_message(message_id: int, *, force: bool = False) -> None:
    """Move one file to its folder; raise errors of the disk, and leave the move pending.

    `force` looks for the file even where no move is pending.
    """
    try:
        _move(message_id, force=force)
    except SESSION_LOST as error:
        # The lock may have been lost before the rename: decide again, under a new one.
        log.warning("message.move_again", message=message_id, error=repr(error))
        connection.close()
        _move(message_id, force=True)
    except FileMissing:
        # Without the lock, unawares: the file may have been moved or deleted by others since.
        _move(message_id, force=True)


def move_messages(message_ids: Sequence[int]) -> bool:
    """Move the files of one process together: one lock, each folder synced once, one commit.

    One by one they take several times as long, most of it waiting for syncs and commits. What a crash or an error
    leaves half done is found and finished one by one, because rows say where files belong. Return False where they must
    be moved one by one, to find out which of them fails.
    """
    try:
        _move_all(message_ids)
    except SESSION_LOST as error:
        log.warning("message.move_again", messages=len(message_ids), error=repr(error))
        connection.close()
        for message_id in message_ids:
            _move(message_id, force=True)
    except VolumeAway:
        raise
    except (FileMissing, FileForeign, OSError, ApplicationError) as error:
        log.warning("message.moved_alone", messages=len(message_ids), error=repr(error))
        return False
    return True


def move_pending_once() -> bool:
    """Do a batch of the pending moves that belong to no process; return whether any succeeded.

    A batch in which all fail does not block the others: the next one follows.
    """
    pending = Message.objects.exclude(moving_from="").filter(process=None).order_by("id").values_list("pk", flat=True)
    last = 0
    while batch := list(pending.filter(pk__gt=last)[:BATCH]):
        try:
            # A list, not a generator: every move of the batch is tried, also after one that succeeds.
            if any([_try_to_move(message_id) for message_id in batch]):
                return True
        except VolumeAway as away:
            log.warning("message.moves_wait", reason=away.words)
            return False
        last = batch[-1]
    return False


def restore_to_folder(message: Message) -> None:
    """Move the file of a locked row to its folder, where no move is pending but it lies elsewhere."""
    place_file(message)
    # A caller whose session was ended has lost the lock: another one decides again where the file belongs.
    if not connection.is_usable():
        with ThreadPoolExecutor(1) as another:
            another.submit(_move_in_thread, message.pk).result()


def place_and_record(message: Message) -> None:
    """Move the file of a locked row to its folder, and update the row."""
    place_file(message)
    with connection.cursor() as cursor:
        cursor.execute(load_engine_sql("messaging", "mark_placed"), [message.pk])


def wake_mover() -> None:
    """Wake the worker that does pending moves, after the commit."""
    ring(MOVES)


def _move_all(message_ids: Sequence[int]) -> None:
    with transaction.atomic():
        rows = Message.objects.select_for_update(no_key=True).filter(pk__in=message_ids, file_gone_at=None)
        pending = list(rows.exclude(moving_from="").order_by("pk"))
        place_files(pending)
        Message.objects.filter(pk__in=[message.pk for message in pending]).update(moving_from="", arrived_at=Now())


def _move(message_id: int, *, force: bool = False) -> None:
    with transaction.atomic():
        locked = Message.objects.raw(load_engine_sql("messaging", "lock_message"), [message_id])
        message = next(iter(locked), None)
        if message is None or message.file_gone_at is not None or not (message.moving_from or force):
            return
        place_and_record(message)


def _move_in_thread(message_id: int) -> None:
    """Move a file in a thread of its own, which has its own connection, and close that."""
    try:
        _move(message_id, force=True)
    finally:
        connection.close()


def _try_to_move(message_id: int) -> bool:
    """Move one file; return whether that settles it. A file that is nowhere is given up, other failures reported."""
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
