"""Whether the message files can be read: checked before the first byte of an answer is sent."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext_noop

from messaging.files.placement import MISSING, FileForeign, FileMissing
from messaging.files.reader import Unreadable, as_application_error, check_file, join_files
from messaging.models import Message
from messaging.services.file_errors import report_file_error
from messaging.services.file_moves import restore_to_folder, wake_mover

UNREADABLE = "unreadable"


def filter_readable(messages: Iterable[Message], *, whole: bool = False) -> list[Message]:
    """Return the messages whose files can be read; the others go to Error with the reason, and block nobody.

    The caller's transaction has locked the rows.
    """
    return [message for message in messages if _is_readable(message, whole)]


def stream_files(
    before: bytes, messages: Sequence[Message], after: bytes, *, release: Callable[[], None] | None = None
) -> Iterator[bytes]:
    """Yield files that were found readable as one answer.

    Where one fails half-way after all, every byte of them is read: an unreadable one goes to Error, or it would cut off
    the next answer too. `release` is called before that, to give the messages back to the queue.
    """
    try:
        yield from join_files(before, messages, after)
    except (OSError, Unreadable):
        if release is not None:
            release()
        with transaction.atomic():
            waiting = Message.objects.filter(status=Message.Status.WAITING, moving_from="")
            locked = waiting.select_for_update(no_key=True).filter(pk__in=[message.pk for message in messages])
            filter_readable(locked.order_by("pk"), whole=True)
        raise


def _is_readable(message: Message, whole: bool) -> bool:
    try:
        _check(message, whole)
    except (Unreadable, FileMissing, FileForeign) as error:
        reason = MISSING if isinstance(error, FileMissing) else str(error)
        _give_up(message, reason, is_there=isinstance(error, Unreadable))
        return False
    return True


def _check(message: Message, whole: bool) -> None:
    try:
        check_file(message, whole=whole)
    except FileNotFoundError:
        try:
            restore_to_folder(message)
            check_file(message, whole=whole)
        except OSError as error:
            raise as_application_error(error) from error


def _give_up(message: Message, reason: str, *, is_there: bool) -> None:
    old = message.folder
    Message.objects.filter(pk=message.pk).update(
        status=Message.Status.INCORRECT,
        folder=Message.Folder.ERROR,
        moving_from=old if is_there else "",
        file_gone_at=None if is_there else Now(),
        file_missing_at=None if is_there else Now(),
        error_text=reason,
        error_code=UNREADABLE,
        settled_at=Now(),
        updated_at=Now(),
        process=None,
    )
    report_file_error(message, gettext_noop("The file %(name)s cannot be read: %(reason)s"), reason)
    wake_mover()
