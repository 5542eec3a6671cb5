"""Do the moves that rows owe: one file at a time, its row held across the rename, the progress recorded after each."""

import structlog
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models.functions import Now
from django.utils.translation import gettext_noop

from config.common.errors import ApplicationError
from config.common.ring import ring
from config.common.sql import load_for_engine
from messaging.files.placing import FileForeign, FileMissing, put_in_place
from messaging.models import Message
from messaging.services.file_errors import tell_file_error

MOVES = "messages.moves"
BATCH = 100

log = structlog.get_logger(__name__)


def move_message(message_id: int) -> None:
    """Bring one file to its folder. Errors of the disk pass to the caller, and the move stays owed."""
    try:
        _move(message_id)
    except (OperationalError, InterfaceError) as error:
        # The lock may have been lost before the rename: what is right now is decided anew, under a new lock.
        log.warning("message.move_again", message=message_id, error=repr(error))
        connection.close()
        _move(message_id, even_if_not_owed=True)


def move_owed_once() -> bool:
    """Do a batch of the moves that belong to no process. Return whether there were any that could be done."""
    owed = Message.objects.exclude(moving_from="").filter(process=None)
    done = 0
    for message_id in list(owed.order_by("id").values_list("pk", flat=True)[:BATCH]):
        done += _try_to_move(message_id)
    return done > 0


def place(message: Message) -> None:
    """Bring the file of a row that the caller holds to its folder, and record it."""
    put_in_place(message)
    with connection.cursor() as cursor:
        cursor.execute(load_for_engine("messaging", "mark_placed"), [message.pk])


def owe_move() -> None:
    """Wake the mover after the commit."""
    ring(MOVES)


def _move(message_id: int, *, even_if_not_owed: bool = False) -> None:
    with transaction.atomic():
        message = _hold(message_id)
        if message is None or message.file_gone_at is not None or not (message.moving_from or even_if_not_owed):
            return
        place(message)


def _hold(message_id: int) -> Message | None:
    return next(iter(Message.objects.raw(load_for_engine("messaging", "hold_message"), [message_id])), None)


def _try_to_move(message_id: int) -> bool:
    """Move one file; a failure is told, and only a file that is nowhere is given up."""
    try:
        move_message(message_id)
    except (FileMissing, FileForeign) as error:
        with transaction.atomic():
            message = Message.objects.select_for_update(no_key=True).get(pk=message_id)
            Message.objects.filter(pk=message_id).update(moving_from="", file_gone_at=Now())
            tell_file_error(message, gettext_noop("The file %(name)s is in none of its folders"), str(error))
        return True
    except (OSError, ApplicationError) as error:
        with transaction.atomic():
            message = Message.objects.get(pk=message_id)
            tell_file_error(message, gettext_noop("The file %(name)s cannot be moved: %(reason)s"), str(error))
        return False
    return True
