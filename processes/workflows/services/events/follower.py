"""Follow the outbox: each event reaches the instances that wait for it and starts those that it starts, once each."""

from collections.abc import Sequence

from django.utils import timezone

from config.common.correlation import correlated
from config.common.database.sql import in_array
from notifications.followers import Following
from notifications.models import Event
from processes.workflows.engine.execution.errors import CommandFailed
from processes.workflows.heads import find_head
from processes.workflows.models import EventElement
from processes.workflows.services.events.arrivals import (
    ACTOR,
    Arrival,
    OfferOutcome,
    offer_event,
    postpone_event,
    read_arrival,
)
from processes.workflows.services.events.starts import start_by_event
from processes.workflows.services.events.subscribers import Subscriber, accepts_event, find_subscribers
from processes.workflows.services.incidents import open_incident
from processes.workflows.services.steps import CommandRequest

NAME = "workflows"
BATCH = 200


def handle_events(events: Sequence[Event]) -> None:
    """Handle a batch in its order; one that is handed over again changes nothing.

    Versions and instances are keyed by event and element, so none of them is written twice.
    """
    arrivals = [read_arrival(event) for event in events]
    # One query for the whole batch: most events have no element that waits for them.
    elements = _load_elements({name for arrival in arrivals for name in arrival.called})
    for arrival in arrivals:
        candidates = [each for name in arrival.called for each in elements.get(name, ())]
        # An event of one enterprise is seen by its definitions and by the shared ones.
        visible = [
            each
            for each in candidates
            if arrival.enterprise is None or each.revision.definition.enterprise_id in (None, arrival.enterprise)
        ]
        if visible:
            with correlated(arrival.correlation_id):
                _handle(arrival, visible)


def _load_elements(names: set[str]) -> dict[str, list[EventElement]]:
    rows = EventElement.objects.filter(name__in=in_array(sorted(names))).select_related("revision__definition")
    found: dict[str, list[EventElement]] = {}
    for element in rows.defer("revision__source").order_by("pk"):
        found.setdefault(element.name, []).append(element)
    return found


def _handle(arrival: Arrival, elements: Sequence[EventElement]) -> None:
    # Subscribers first: an instance that is started by this event must not take it a second time.
    for subscriber in find_subscribers(arrival, elements):
        _offer(arrival, subscriber)
    for element in elements:
        if element.is_start and element.revision.created_at <= arrival.recorded_at:
            start_by_event(arrival, element)


def _offer(arrival: Arrival, subscriber: Subscriber) -> None:
    command = {
        "command": "event",
        "subscription": subscriber.local,
        "payload": arrival.payload,
        "hops": arrival.hops,
        "generation": arrival.generation,
    }
    request = CommandRequest(
        command,
        actor=ACTOR,
        at=timezone.now(),
        cause=f"event {arrival.type}",
        taken_key=subscriber.taken_key(arrival),
        position=arrival.position,
    )
    try:
        if not accepts_event(arrival, subscriber):
            return
    except CommandFailed as failure:
        head = find_head(subscriber.instance_id)
        if head is not None:
            open_incident(head, request, element=failure.element, reason=failure.reason, is_heard=False)
        return
    if offer_event(subscriber.instance_id, request) == OfferOutcome.SUSPENDED:
        postpone_event(subscriber.instance_id, request)


FOLLOWING = Following(name=NAME, handle=handle_events, outside=True, batch=BATCH)
