"""Tell a fact: write its event in the transaction that makes it true."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from config.common.correlation import correlation_id
from config.common.ring import ring
from notifications.models import Event

SEQUENCER = "sequencer"


@dataclass(frozen=True)
class Fact:
    type: str
    subject: str
    at: datetime
    payload: dict[str, Any] = field(default_factory=dict)
    correlation_id: str = ""


def record_events(facts: Iterable[Fact]) -> list[Event]:
    """Write the events of these facts, in their order.

    Call it while the row lock of each subject is held, as every service does that changes one: then two facts of one
    subject take their ids in the order in which they commit, and followers see them in that order.
    """
    current = correlation_id()
    events = Event.objects.bulk_create(
        [
            Event(
                type=fact.type,
                subject=fact.subject,
                at=fact.at,
                payload=fact.payload,
                correlation_id=fact.correlation_id or current,
            )
            for fact in facts
        ]
    )
    if events:
        ring(SEQUENCER)
    return events


def record_event(fact: Fact) -> Event:
    return record_events([fact])[0]
