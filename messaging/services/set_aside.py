"""Set a waiting message aside: it is not offered until staff bring it back, because the ERP may crash on it."""

from typing import Any

from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop

from config.audit.changes import record_change
from config.audit.log import write_log_entry
from config.records.models import ChangeRecord, LogEntry
from messaging.errors import AlreadySetAside, MessageNotFound, NotSetAside, NotWaiting
from messaging.models import ExchangeDatabase, Message
from messaging.services.requeue import KIND
from messaging.subjects import subject_of
from notifications.services.alerts import close_alert
from notifications.services.events import NewEvent, record_event

SETBACKS = "message.setbacks"
SET_ASIDE = gettext_noop("Message %(message)s to %(database)s was set aside by %(actor)s: %(why)s")
BROUGHT_BACK = gettext_noop("Message %(message)s to %(database)s was restored by %(actor)s: %(why)s")


def set_aside_message(*, message_id: int, reason: str, actor: str) -> None:
    """Keep a waiting message from being offered; its receipt still says that it waits, and why."""
    with transaction.atomic():
        message = _lock(message_id)
        if message.set_aside_at is not None:
            raise AlreadySetAside
        if not can_be_set_aside(message):
            raise NotWaiting
        text = gettext("Set aside by staff: %(reason)s") % {"reason": reason}
        Message.objects.filter(pk=message_id).update(set_aside_at=Now(), error_text=text, updated_at=Now())
        _record(message, "set_aside", SET_ASIDE, reason=reason, actor=actor)
        close_alert(SETBACKS, subject_of(message), gettext_noop("the message was set aside"))


def bring_back_message(*, message_id: int, reason: str, actor: str) -> None:
    """Offer a message again that was set aside, in its old place by time; its setbacks are reset."""
    with transaction.atomic():
        message = _lock(message_id)
        if message.set_aside_at is None:
            raise NotSetAside
        Message.objects.filter(pk=message_id).update(
            set_aside_at=None, error_text="", setbacks=0, is_postponed=False, isolation=0, updated_at=Now()
        )
        _record(message, "brought_back", BROUGHT_BACK, reason=reason, actor=actor)


def can_be_set_aside(message: Message) -> bool:
    """Return whether a message waits for a database; one of a live process is settled with that process."""
    return (
        message.direction == Message.Direction.REQUEST
        and message.status == Message.Status.WAITING
        and message.set_aside_at is None
    )


def _lock(message_id: int) -> Message:
    """Lock a message, and its database first, in the order of API_1: it must not take the message meanwhile."""
    database = ExchangeDatabase.objects.select_for_update(no_key=True).filter(messages=message_id)
    if not database:
        raise MessageNotFound
    return Message.objects.select_for_update(no_key=True).get(pk=message_id)


def _record(message: Message, verb: str, template: str, *, reason: str, actor: str) -> None:
    """Record a decision in the change log, the log and the events."""
    data: dict[str, Any] = {"message": message.public_id, "database": message.database_id, "actor": actor}
    record_change(
        kind=KIND,
        object_id=str(message.pk),
        action=ChangeRecord.Action.CHANGED,
        before={"id": message.public_id, "set_aside": message.set_aside_at is not None},
        after={"id": message.public_id, "set_aside": verb == "set_aside", "reason": reason},
        actor=actor,
    )
    write_log_entry(
        level=LogEntry.Level.WARNING,
        kind=LogEntry.Kind.EXCHANGE,
        subject=subject_of(message),
        template=template,
        data={**data, "why": reason},
    )
    record_event(NewEvent(f"message.{verb}", subject_of(message), timezone.now(), {**data, "why": reason}))
