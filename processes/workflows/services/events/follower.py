"""Follow the events: each reaches the instances that wait for it and begins those that it starts, once each."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

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
    read_arrival,
)
from processes.workflows.services.events.starts import start_by_event
from processes.workflows.services.events.subscribers import Subscriber, accepts_event, find_subscribers
from processes.workflows.services.holding import postpone_event
from processes.workflows.services.incidents import open_incident
from processes.workflows.services.planning import CommandRequest

NAME = "workflows"
BATCH = 200

Elements: TypeAlias = dict[str, list[EventElement]]


def handle_events(events: Sequence[Event]) -> None:
    """Take events in their order. What nobody has drawn an element for costs one look for the whole batch.

    A batch that is handed over again changes nothing: versions and instances are keyed by event and element.
    """
    arrivals = [read_arrival(event) for event in events]
    elements = _elements({name for arrival in arrivals for name in arrival.called})
    for arrival in arrivals:
        theirs = [each for name in arrival.called for each in elements.get(name, ()) if _may_see(each, arrival)]
        if theirs:
            with correlated(arrival.correlation_id):
                _take(arrival, theirs)


def _elements(names: Iterable[str]) -> Elements:
    rows = EventElement.objects.filter(name__in=in_array(sorted(names))).select_related("revision__definition")
    found: Elements = {}
    for element in rows.defer("revision__source").order_by("pk"):
        found.setdefault(element.name, []).append(element)
    return found


def _may_see(element: EventElement, arrival: Arrival) -> bool:
    """Nobody of one enterprise sees another's."""
    return arrival.enterprise is None or element.revision.definition.enterprise_id in (None, arrival.enterprise)


def _take(arrival: Arrival, elements: Sequence[EventElement]) -> None:
    """Those who wait come first: whoever begins by this event does not take it a second time."""
    for waiting in find_subscribers(arrival, elements):
        _bring(arrival, waiting)
    for element in elements:
        if element.is_start and element.revision.created_at <= arrival.recorded_at:
            start_by_event(arrival, element)


def _bring(arrival: Arrival, waiting: Subscriber) -> None:
    command = {"command": "event", "subscription": waiting.local, "payload": arrival.payload, "hops": arrival.hops}
    order = CommandRequest(
        command,
        actor=ACTOR,
        at=timezone.now(),
        cause=f"event {arrival.type}",
        taken_key=waiting.taken_key(arrival),
        position=arrival.position,
    )
    try:
        if not accepts_event(arrival, waiting):
            return
    except CommandFailed as failure:
        head = find_head(waiting.instance_id)
        if head is not None:
            open_incident(head, order, element=failure.element, reason=failure.reason)
        return
    if offer_event(waiting.instance_id, order) == OfferOutcome.SUSPENDED:
        postpone_event(waiting.instance_id, order)


FOLLOWING = Following(name=NAME, handle=handle_events, outside=True, batch=BATCH)
