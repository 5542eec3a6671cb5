"""The progress of a change set over the statuses: a row of dots in lists, with times on its page."""

from dataclasses import dataclass
from datetime import datetime

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from config.common.times import parse_time
from processes.coordination.admin.presentation import STATUSES
from processes.coordination.protocol.statuses import EventStatus as E
from processes.coordination.selectors import EventOverview

WAY = (E.CREATED, E.SAVING, E.SAVED, E.ACTIVATED, E.PREPARING, E.PREPARED, E.PROCESSING, E.PROCESSED)
ENDINGS = {
    E.CANCELING: (E.CANCELING, E.CANCELED),
    E.CANCELED: (E.CANCELING, E.CANCELED),
    E.COMPENSATION_FAILED: (E.CANCELING, E.COMPENSATION_FAILED),
}
"""The last stops from these statuses; from all others they are those of the commit."""
STEP_OF = {
    E.CREATED: "1",
    E.SAVING: "5",
    E.SAVED: "11",
    E.ACTIVATED: "14",
    E.PREPARING: "18",
    E.PREPARED: "23",
    E.PROCESSING: "27",
    E.PROCESSED: "33",
    E.COMMITTING: "34.1",
    E.COMMITTED: "34.7",
    E.CANCELING: "35.1",
    E.CANCELED: "35.7",
    E.COMPENSATION_FAILED: "35.7",
}
"""The step by which an event as a whole comes to be in a status."""


@dataclass(frozen=True)
class Stop:
    name: str
    state: str
    """done, now, next; doubt where it waits for a reader that does not agree, bad where it is cancelled."""
    at: datetime | None


def progress_stops(view: EventOverview) -> list[Stop]:
    """Return the statuses that the change set has been in, is in and would be in."""
    here = view.status
    way = (*WAY, *ENDINGS.get(here, (E.COMMITTING, E.COMMITTED)))
    times = {number: parse_time(at) for number, at in view.steps}
    moments = [times.get(STEP_OF[status]) for status in way]
    place = way.index(here)
    # A message may overtake another, and its status with it; but past the last one noted a cancellation has cut in.
    reached = max((number for number in range(len(WAY)) if moments[number] is not None), default=0)
    return [
        Stop(
            str(STATUSES[status]),
            _state(view, status, number, place, reached),
            moments[number] if number <= place else None,
        )
        for number, status in enumerate(way)
    ]


def draw_progress(view: EventOverview) -> SafeString:
    """Return the progress as a row of dots, each with its name as a tooltip."""
    stops = progress_stops(view)
    dots = format_html_join("", '<i data-step="{}" title="{}"></i>', ((stop.state, stop.name) for stop in stops))
    label = gettext("Its status: %(status)s.") % {"status": STATUSES[view.status]}
    return format_html('<span class="pst-dots pst-line" role="img" aria-label="{}">{}</span>', label, dots)


def _state(view: EventOverview, status: E, number: int, place: int, reached: int) -> str:
    if number > place:
        return "next"
    if status in ENDINGS:
        return "bad"
    if number < place:
        return "done" if number <= reached or view.status not in ENDINGS else "next"
    if status == E.COMMITTED:
        return "done"
    is_waiting = view.coordinated is not None and view.coordinated.is_waiting
    return "doubt" if is_waiting else "now"
