"""Receive an event from outside, by REST or RabbitMQ: what a source sends under one id counts once."""

from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.translation import gettext

from config.common.errors import Invalid
from config.common.ids import new_id
from config.common.text import is_storable
from notifications.services.events import NewEvent, record_event
from processes.workflows.engine.event_names import CUSTOM_PREFIX, LONGEST_TYPE
from processes.workflows.models import ReceivedEvent

LONGEST_ID = 200
LONGEST_RECORD = 200


def receive_event(
    *, source: str, type: str, at: datetime, id: str | None = None, record: str = "", payload: Any = None
) -> str:
    """Write the event into the outbox, unless its source has sent it before; return its id."""
    event_id = str(new_id()) if id is None else id
    payload = {} if payload is None else payload
    _check(type, event_id, record, payload)
    body = {"record": record, "payload": payload, "source": source[:160], "id": event_id}
    subject = f"record/{record}" if record else f"event/{event_id}"
    try:
        with transaction.atomic():
            ReceivedEvent.objects.create(source=source[:160], event_id=event_id)
            record_event(NewEvent(type, subject[:120], at, body))
    except IntegrityError:
        if not ReceivedEvent.objects.filter(source=source[:160], event_id=event_id).exists():
            raise
    return event_id


def _check(type: str, event_id: str, record: str, payload: Any) -> None:
    faults: dict[str, list[str]] = {}
    if not type.startswith(CUSTOM_PREFIX) or not len(CUSTOM_PREFIX) < len(type) <= LONGEST_TYPE:
        rule = gettext("Must begin with %(prefix)s and have at most %(count)s characters.")
        faults["type"] = [rule % {"prefix": CUSTOM_PREFIX, "count": LONGEST_TYPE}]
    for name, value, most in (("id", event_id, LONGEST_ID), ("record", record, LONGEST_RECORD)):
        if len(value) > most or (name == "id" and not value):
            faults[name] = [gettext("Must have at most %(count)s characters.") % {"count": most}]
    if not is_storable([type, event_id, record, payload]):
        faults["payload"] = [gettext("Must not contain the character NUL.")]
    if faults:
        raise Invalid(faults)
