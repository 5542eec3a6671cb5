"""Put a message that ended in Error back into the queue, once a person has mended what was wrong with it."""

import copy
from typing import Any

from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_noop

from config.audit.changes import record_change
from config.audit.log import write_log_entry
from config.records.models import ChangeRecord, LogEntry
from messaging.errors import FileNotAsWritten, FileStillMissing, MessageNotFound, NotRequeuable
from messaging.files.paths import draft_of
from messaging.files.placement import find_files
from messaging.files.reader import Unreadable, check_file
from messaging.models import Message
from messaging.services.file_errors import KIND as FILE_ERROR
from messaging.services.file_moves import wake_mover
from messaging.services.readability import UNREADABLE
from messaging.subjects import subject_of
from notifications.services.alerts import close_alert
from notifications.services.events import NewEvent, record_event

KIND = "message"
Folder, Status = Message.Folder, Message.Status


REQUEUED = gettext_noop("Message %(message)s to %(database)s was put back into the queue by %(actor)s: %(why)s")
FILE_RESTORED = gettext_noop("The file of message %(message)s of %(database)s was restored by %(actor)s: %(why)s")


def requeue_message(*, message_id: int, reason: str, actor: str) -> None:
    """Offer a message again. The row is locked, so that of two callers one is refused."""
    with transaction.atomic():
        message = _lock(message_id)
        if not is_requeuable(message):
            raise NotRequeuable
        before = _values(message)
        _put_back(message, lies_in=message.moving_from or message.folder)
        _record(message, before, reason=reason, actor=actor, template=REQUEUED)
        wake_mover()


def restore_message(*, message_id: int, reason: str, actor: str) -> None:
    """Restore a message whose file was missing and is there again.

    One that was given up for that is offered again; of one that was settled otherwise only the file is restored.
    """
    with transaction.atomic():
        message = _lock(message_id)
        if message.file_missing_at is None:
            raise NotRequeuable
        lies_in = _find_folder(message)
        before = _values(message)
        if was_given_up(message):
            _put_back(message, lies_in=lies_in)
        else:
            _restore_file(message, lies_in=lies_in)
        template = REQUEUED if message.status == Status.WAITING else FILE_RESTORED
        _record(message, before, reason=reason, actor=actor, template=template)
        wake_mover()


def was_given_up(message: Message) -> bool:
    """Return whether a message is incorrect for its file alone: neither an ERP nor a device has had it."""
    return message.status == Status.INCORRECT and message.error_code == UNREADABLE


def is_requeuable(message: Message) -> bool:
    """Return whether a message ended in Error for good; one of a live process is settled with that process."""
    return (
        message.direction == Message.Direction.REQUEST
        and message.status == Status.INCORRECT
        and message.process is None
        and message.file_gone_at is None
    )


def _lock(message_id: int) -> Message:
    message = Message.objects.select_for_update(no_key=True).filter(pk=message_id).first()
    if message is None:
        raise MessageNotFound
    return message


def _find_folder(message: Message) -> str:
    """Return the folder in which the file lies, after checking that it is as it was written."""
    found = next(iter(find_files(message)), None)
    if found is None:
        raise FileStillMissing
    if found != draft_of(message):
        in_its_folder = copy.copy(message)
        in_its_folder.folder = found.parent.name
        try:
            check_file(in_its_folder)
        except Unreadable as error:
            raise FileNotAsWritten(reason=str(error)) from error
    return found.parent.name


def _restore_file(message: Message, *, lies_in: str) -> None:
    moving_from = "" if lies_in == message.folder else lies_in
    Message.objects.filter(pk=message.pk).update(
        moving_from=moving_from, file_gone_at=None, file_missing_at=None, arrived_at=Now(), updated_at=Now()
    )


def _put_back(message: Message, *, lies_in: str) -> None:
    message.status, message.folder = Status.WAITING, Folder.MESSAGES
    message.moving_from = "" if lies_in == Folder.MESSAGES else lies_in
    Message.objects.filter(pk=message.pk).update(
        status=message.status,
        folder=message.folder,
        moving_from=message.moving_from,
        file_gone_at=None,
        file_missing_at=None,
        error_text="",
        error_code="",
        settled_at=None,
        setbacks=0,
        is_postponed=False,
        isolation=0,
        arrived_at=Now(),
        updated_at=Now(),
    )


def _record(message: Message, before: dict[str, Any], *, reason: str, actor: str, template: str) -> None:
    """Record a decision in the change log, the log and the events, and close the alert about the file."""
    record_change(
        kind=KIND,
        object_id=str(message.pk),
        action=ChangeRecord.Action.CHANGED,
        before=before,
        after={"id": message.public_id, "status": message.status, "folder": message.folder, "reason": reason},
        actor=actor,
    )
    subject = subject_of(message)
    data = {"message": message.public_id, "database": message.database_id, "actor": actor, "why": reason}
    write_log_entry(
        level=LogEntry.Level.WARNING,
        kind=LogEntry.Kind.EXCHANGE,
        subject=subject,
        template=template,
        data=data,
    )
    if template == REQUEUED:
        record_event(NewEvent("message.requeued", subject, timezone.now(), data))
        close_alert(FILE_ERROR, subject, gettext_noop("the message was put back into the queue"))
    else:
        close_alert(FILE_ERROR, subject, gettext_noop("the file was restored"))


def _values(message: Message) -> dict[str, Any]:
    return {
        "id": message.public_id,
        "status": message.status,
        "folder": message.folder,
        "error_text": message.error_text,
        "error_code": message.error_code,
    }
