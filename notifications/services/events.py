"""Tell a fact: write its event in the transaction that makes it true."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from config.common.background.ring import ring
from config.common.correlation import correlation_id
from config.common.database.sql import bulk_execute
from config.common.text import encode_clean

SEQUENCER = "sequencer"


@dataclass(frozen=True)
class NewEvent:
    type: str
    subject: str
    at: datetime
    payload: dict[str, Any] = field(default_factory=dict)
    correlation_id: str = ""


def record_events(facts: Iterable[NewEvent]) -> None:
    """Write the events of these facts, in their order, in one statement.

    Call it while the row lock of each subject is held, as every service does that changes one: then two facts of one
    subject take their ids in the order in which they commit, and followers see them in that order.
    """
    current = correlation_id()
    rows = [
        (fact.type, fact.subject, encode_clean(fact.payload), fact.at, fact.correlation_id or current) for fact in facts
    ]
    if rows:
        bulk_execute("notifications", "record_events", rows)
        ring(SEQUENCER)


def record_event(fact: NewEvent) -> None:
    record_events([fact])
