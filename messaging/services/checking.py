"""See that the files of messages can be sent, before the first byte of an answer is."""

from collections.abc import Iterable

from django.db.models.functions import Now
from django.utils.translation import gettext_noop

from messaging.files.placing import FileForeign, FileMissing, put_in_place
from messaging.files.reading import Unreadable, check_file
from messaging.models import Message
from messaging.services.file_errors import tell_file_error
from messaging.services.moving import owe_move

UNREADABLE = "unreadable"


def keep_readable(messages: Iterable[Message]) -> list[Message]:
    """Return those whose files can be read; the others go to Error with the reason, and block nobody.

    The caller's transaction holds the rows.
    """
    return [message for message in messages if _is_readable(message)]


def _is_readable(message: Message) -> bool:
    try:
        _check(message)
    except (Unreadable, FileMissing, FileForeign) as error:
        _give_up(message, str(error), is_there=isinstance(error, Unreadable))
        return False
    return True


def _check(message: Message) -> None:
    try:
        check_file(message)
    except FileNotFoundError:
        put_in_place(message)
        check_file(message)


def _give_up(message: Message, reason: str, *, is_there: bool) -> None:
    old = message.folder
    Message.objects.filter(pk=message.pk).update(
        status=Message.Status.INCORRECT,
        folder=Message.Folder.ERROR,
        moving_from=old if is_there else "",
        file_gone_at=None if is_there else Now(),
        error_text=reason,
        error_code=UNREADABLE,
        settled_at=Now(),
        updated_at=Now(),
        process=None,
    )
    tell_file_error(message, gettext_noop("The file %(name)s cannot be read: %(reason)s"), reason)
    owe_move()
