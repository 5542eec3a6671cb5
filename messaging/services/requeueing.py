"""Put a message that ended in Error back into the queue: a person has seen to what was wrong with it."""

from typing import Any

from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_noop

from config.records.models import ChangeRecord, LogEntry
from config.records.services.changes import record_change
from config.records.services.log import write_entry
from messaging.errors import MessageNotFound, NotRequeuable
from messaging.models import Message
from messaging.naming import subject_of
from messaging.services.file_errors import KIND as FILE_ERROR
from messaging.services.moving import owe_move
from notifications.services.alerts import heal
from notifications.services.events import Fact, record_event

KIND = "message"
Folder, Status = Message.Folder, Message.Status


def requeue_message(*, message_id: int, reason: str, actor: str) -> None:
    """Offer the message again; under its lock, so that of two who ask for it one is refused."""
    with transaction.atomic():
        message = Message.objects.select_for_update(no_key=True).filter(pk=message_id).first()
        if message is None:
            raise MessageNotFound
        if not is_requeuable(message):
            raise NotRequeuable
        before = _values(message)
        _put_back(message)
        _record(message, before, reason=reason, actor=actor)
        owe_move()


def is_requeuable(message: Message) -> bool:
    """Say whether it ended in Error for good: what a process still holds is settled with that process."""
    return (
        message.direction == Message.Direction.REQUEST
        and message.status == Status.INCORRECT
        and message.process is None
        and message.file_gone_at is None
    )


def _put_back(message: Message) -> None:
    lies_in = message.moving_from or message.folder
    message.status, message.folder = Status.WAITING, Folder.MESSAGES
    message.moving_from = "" if lies_in == Folder.MESSAGES else lies_in
    Message.objects.filter(pk=message.pk).update(
        status=message.status,
        folder=message.folder,
        moving_from=message.moving_from,
        error_text="",
        error_code="",
        settled_at=None,
        setbacks=0,
        is_postponed=False,
        isolation=0,
        arrived_at=Now(),
        updated_at=Now(),
    )


def _record(message: Message, before: dict[str, Any], *, reason: str, actor: str) -> None:
    """Tell it where people look: the change log, the log, the events; what was raised about its file is over."""
    record_change(
        kind=KIND,
        object_id=str(message.pk),
        action=ChangeRecord.Action.CHANGED,
        before=before,
        after={"id": message.public_id, "status": message.status, "folder": message.folder, "reason": reason},
        actor=actor,
    )
    subject = subject_of(message)
    told = {"message": message.public_id, "database": message.database_id, "actor": actor, "why": reason}
    write_entry(
        level=LogEntry.Level.WARNING,
        kind=LogEntry.Kind.EXCHANGE,
        subject=subject,
        template=gettext_noop("Message %(message)s to %(database)s was put back into the queue by %(actor)s: %(why)s"),
        data=told,
    )
    record_event(Fact("message.requeued", subject, timezone.now(), told))
    heal(FILE_ERROR, subject, gettext_noop("the message was put back into the queue"))


def _values(message: Message) -> dict[str, Any]:
    return {
        "id": message.public_id,
        "status": message.status,
        "folder": message.folder,
        "error_text": message.error_text,
        "error_code": message.error_code,
    }
