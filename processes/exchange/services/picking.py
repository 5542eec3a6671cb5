"""Choose the messages of a process: the longest run of the oldest that fits both limits, at any length of queue."""

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

import msgspec
from django.db import connection

from config.common.database.sql import load_engine_sql
from messaging.models import ExchangeDatabase, Message, Subsystem
from messaging.services.fetch import take_within_limits
from messaging.services.readability import filter_readable
from messaging.services.values import Limits


def pick_messages(
    database: ExchangeDatabase, *, lane: Sequence[str], senders: Sequence[str], limits: Limits
) -> list[Message]:
    """Return what the next process is to have; what cannot be read goes to Error, and others take its place."""
    subsystems = list(lane) or list(
        Subsystem.objects.filter(enterprise=database.enterprise_id).values_list("pk", flat=True)
    )
    while True:
        chosen = take_within_limits(_part_suspects(_oldest(database, subsystems, senders, limits.files)), limits)
        readable = filter_readable(chosen)
        if len(readable) == len(chosen):
            return chosen


def _part_suspects(messages: list[Message]) -> list[Message]:
    """Offer those with which the ERP falls silent by themselves: nothing else shall die with one of them.

    Each time it happens again the list is half as long, so the innocent among them are soon through.
    """
    isolation = messages[0].isolation if messages else 0
    alike = list(takewhile(lambda message: message.isolation == isolation, messages))
    return alike[: max(1, len(messages) >> isolation)]


def _oldest(database: ExchangeDatabase, subsystems: Sequence[str], senders: Sequence[str], most: int) -> list[Message]:
    by = "senders" if senders else "subsystems"
    values = {"database": database.pk, "keys": senders or subsystems, "lane": subsystems, "most": most}
    if connection.vendor != "postgresql":
        values |= {name: _json(values[name]) for name in ("keys", "lane")}
    else:
        values |= {name: list(values[name]) for name in ("keys", "lane")}  # type: ignore[call-overload]
    return list(Message.objects.raw(load_engine_sql("processes.exchange", f"pick_of_{by}"), values))


def _json(values: Any) -> str:
    return msgspec.json.encode(list(values)).decode()
