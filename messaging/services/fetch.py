"""A device fetches the messages addressed to it, and confirms each one that it has stored."""

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
    """Return the oldest messages for a device as one JSON answer; every file has been found readable.

    Unreadable ones leave the queue, and others take their place: an empty answer means that nothing waits.
    """
    waiting = Message.objects.filter(
        direction=Message.Direction.REPLY, device=device, status=Status.WAITING, moving_from=""
    )
    while True:
        oldest = take_within_limits(waiting.order_by("created_at", "id")[: limits.files], limits)
        # A list, not a generator: one round takes all unreadable files of the batch out of the queue.
        if all([_is_sendable(message) for message in oldest]):
            return stream_files(b'{"version":1,"messages":[', oldest, b"]}")


def confirm_message(*, device: Device, public_id: str) -> None:
    """Record that the device has stored the message: it goes to Log, once."""
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
    """Return the first messages that fit both limits together; at least one, even past them."""
    chosen: list[Message] = []
    size = 0
    for message in messages:
        size += message.size
        if chosen and (len(chosen) == limits.files or size > limits.bytes):
            break
        chosen.append(message)
    return chosen


def _is_sendable(message: Message) -> bool:
    """Return whether the file can be sent; it is checked without a lock first, and under one only where it is wrong."""
    try:
        check_file(message)
    except (FileNotFoundError, Unreadable):
        with transaction.atomic():
            locked = Message.objects.select_for_update(no_key=True).get(pk=message.pk)
            return locked.status == Status.WAITING and bool(filter_readable([locked]))
    return True


def _put_into_log(message: Message) -> None:
    """Move the file under the row's lock; where the disk fails, the move stays pending and the confirmation stands."""
    message.folder, message.moving_from = Folder.LOG, Folder.MESSAGES
    try:
        place_file(message)
    except VolumeAway:
        raise  # nothing is known of the file: the device must confirm again
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
