"""Facts for the tests of the spine."""

from typing import Any

from django.utils import timezone

from notifications.models import Event
from notifications.services.events import NewEvent, record_events
from notifications.services.sequencer import stamp_once


def record_numbered_events(
    count: int = 1, *, subject: str = "door", type: str = "test.happened", payload: dict[str, Any] | None = None
) -> list[Event]:
    """Record facts numbered from one and stamp them."""
    facts = [
        NewEvent(type=type, subject=subject, at=timezone.now(), payload={"n": n + 1, **(payload or {})})
        for n in range(count)
    ]
    record_events(facts)
    while stamp_once():
        pass
    return list(Event.objects.order_by("-id")[:count])[::-1]
