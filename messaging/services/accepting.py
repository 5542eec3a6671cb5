"""Write the row of a message and the event that tells of it. Every message comes through here, so it is one trip."""

from functools import lru_cache
from typing import Any

import msgspec
from django.db import connection, transaction

from config.common.background.ring import ring
from config.common.database.sql import load_sql, postgresql_cursor
from messaging.models import ExchangeDatabase, Message
from messaging.subjects import subject_of
from notifications.services.events import SEQUENCER, NewEvent, record_event


class UnknownAddressee(Exception):
    """The enterprise has no such database. An exception, so that it is asked for again the next time."""


@lru_cache(maxsize=10_000)
def check_addressee(database_id: str, enterprise_id: str) -> None:
    """See that the enterprise has such a database: once it has, it has for good, and nobody makes folders otherwise.

    Whether it takes messages at the moment is seen when the row is written.
    """
    if not ExchangeDatabase.objects.filter(pk=database_id, enterprise=enterprise_id).exists():
        raise UnknownAddressee


def insert_message(message: Message) -> bool:
    """Write the row, unless its id is taken or its database takes no messages; return whether it was written."""
    if connection.vendor == "postgresql":
        return _accept_at_once(message)
    with transaction.atomic():
        addressee = ExchangeDatabase.objects.filter(pk=message.database_id, active=True)
        taken = Message.objects.filter(enterprise=message.enterprise_id, public_id=message.public_id)
        if taken.exists() or not addressee.exists():
            return False
        message.save(force_insert=True)
        record_event(NewEvent("message.received", subject_of(message), message.accepted_at, _payload(message)))
        return True


def _accept_at_once(message: Message) -> bool:
    values = {
        "id": message.public_id,
        "device": message.device_id,
        "subsystem": message.subsystem_id,
        "created_at": message.created_at,
        "at": message.accepted_at,
        "chain": message.correlation_id,
        "size": message.size,
        "digest": message.digest,
        "token": message.token,
        "database": message.database_id,
        "enterprise": message.enterprise_id,
        "subject": subject_of(message),
        "payload": msgspec.json.encode(_payload(message)).decode(),
    }
    with postgresql_cursor(commits=True) as cursor:
        row = cursor.execute(load_sql("messaging", "accept_message.postgresql"), values, prepare=True).fetchone()
    if row is None:
        return False
    message.pk = row[0]
    ring(SEQUENCER)
    return True


def _payload(message: Message) -> dict[str, Any]:
    return {
        "message": message.public_id,
        "device": message.device_id,
        "database": message.database_id,
        "subsystem": message.subsystem_id,
        "enterprise": message.enterprise_id,
        "bytes": message.size,
    }
