"""A device fetches what is addressed to it, and confirms each message it has kept."""

from collections.abc import Iterable, Iterator

import structlog
from django.db import transaction
from django.db.models.functions import Now

from config.common.errors import ApplicationError, VolumeAway
from messaging.errors import MessageNotFound
from messaging.files.placement import FileForeign, FileMissing, place_file
from messaging.files.reader import Unreadable, check_file
from messaging.models import Device, Message
from messaging.services.file_moves import wake_mover
from messaging.services.readability import filter_readable, stream_files
from messaging.services.values import Limits

Folder, Status = Message.Folder, Message.Status

log = structlog.get_logger(__name__)


def fetch_messages(*, device: Device, limits: Limits) -> Iterator[bytes]:
    """Return the oldest messages for a device as one JSON answer, every file seen to be readable.

    What cannot be read leaves the queue, and others take its place: an empty answer says that nothing waits.
    """
    waiting = Message.objects.filter(
        direction=Message.Direction.REPLY, device=device, status=Status.WAITING, moving_from=""
    )
    while True:
        oldest = take_within_limits(waiting.order_by("created_at", "id")[: limits.files], limits)
        if all([_can_be_sent(message) for message in oldest]):
            return stream_files(b'{"version":1,"messages":[', oldest, b"]}")


def confirm_message(*, device: Device, public_id: str) -> None:
    """Take note that the device has the message for good: it goes to Log, once."""
    with transaction.atomic():
        message = (
            Message.objects.select_for_update(no_key=True)
            .filter(enterprise=device.subsystem.enterprise_id, public_id=public_id, device=device)
            .filter(direction=Message.Direction.REPLY, status__in=[Status.WAITING, Status.PROCESSED])
            .first()
        )
        if message is None or (message.status == Status.WAITING and message.moving_from):
            raise MessageNotFound
        if message.status == Status.WAITING:
            _put_into_log(message)


def take_within_limits(messages: Iterable[Message], limits: Limits) -> list[Message]:
    """Return the longest run of the first that fits both limits; one is always sent, even past them."""
    chosen: list[Message] = []
    size = 0
    for message in messages:
        size += message.size
        if chosen and (len(chosen) == limits.files or size > limits.bytes):
            break
        chosen.append(message)
    return chosen


def _can_be_sent(message: Message) -> bool:
    """Look without a lock first: only a file that is not as it should be is worth one."""
    try:
        check_file(message)
    except (FileNotFoundError, Unreadable):
        with transaction.atomic():
            held = Message.objects.select_for_update(no_key=True).get(pk=message.pk)
            return held.status == Status.WAITING and bool(filter_readable([held]))
    return True


def _put_into_log(message: Message) -> None:
    """Move the file under the row's lock; where the disk refuses, the move is owed and the confirmation stands.

    Without its volume nothing is known of the file: the device is to confirm again.
    """
    message.folder, message.moving_from = Folder.LOG, Folder.MESSAGES
    try:
        place_file(message)
    except VolumeAway:
        raise
    except (OSError, ApplicationError, FileMissing, FileForeign) as error:
        log.warning("message.move_owed", message=message.public_id, error=repr(error))
        wake_mover()
    else:
        message.moving_from = ""
    Message.objects.filter(pk=message.pk).update(
        status=Status.PROCESSED,
        folder=message.folder,
        moving_from=message.moving_from,
        arrived_at=Now(),
        settled_at=Now(),
        updated_at=Now(),
    )
