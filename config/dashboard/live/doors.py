"""The doors of the live page: how many are connected and open, how often they change, and the newest changes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

from django.urls import reverse

from config.common.database.row_lists import Lists, Questions, Row
from config.dashboard.live.counts import MOST_COUNTED
from notifications.models import Event
from sensors.events import EVENT_TYPES, STATE_CHANGED
from sensors.selectors import FleetTally, count_fleet

MOST_CHANGES = 20
LEAST_PAUSE, MOST_PAUSE = 2.0, 60.0
PAUSE_FACTOR = 50
"""Counting reads every state: it rests fifty times as long as it took, so that a large fleet costs a fiftieth."""

Minutes = Mapping[tuple[str, str], list[int]]


@dataclass(frozen=True)
class Fleet:
    """The tally of all sensors, and how long it may stand until it is counted anew."""

    tally: FleetTally
    pause: float


def read_fleet() -> Fleet:
    began = monotonic()
    tally = count_fleet()
    took = monotonic() - began
    return Fleet(tally, pause=min(max(LEAST_PAUSE, PAUSE_FACTOR * took), MOST_PAUSE))


def ask_doors(*, after: int) -> Questions:
    """Return the query for the newest changes after a position; of all of them if it is 0.

    Whatever else happens costs nothing: on PostgreSQL the index `event_door` has the changes alone.
    """
    newest = Event.objects.filter(position__gt=after, type__in=EVENT_TYPES).order_by("-position")
    return {"door_changes": newest.values("position", "type", "at", "payload")[:MOST_CHANGES]}


def read_doors(
    *,
    lost: int,
    is_outage: bool,
    fleet: Fleet | None,
    minutes: Minutes,
    lists: Lists,
    known: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """Return the part `sensors`; what only a count of the whole fleet tells is missing until there is one.

    What was read is put before the known changes.
    """
    columns = [counts for (kind, _), counts in minutes.items() if kind == STATE_CHANGED]
    newer = [_change(row) for row in lists["door_changes"]]
    # An event may have got its position between the read of the last position and that of the list: it comes twice.
    read = {change["key"] for change in newer}
    part: dict[str, Any] = {
        "lost": lost,
        "deaf": is_outage,
        "minutes": [sum(each) for each in zip(*columns, strict=True)],
        "changes": [*newer, *(each for each in known if each["key"] not in read)][:MOST_CHANGES],
    }
    return part | (_tally(fleet, lost=lost, is_outage=is_outage) if fleet is not None else {})


def _tally(fleet: Fleet, *, lost: int, is_outage: bool) -> dict[str, Any]:
    tally = fleet.tally
    heard = tally.seen - tally.lost
    return {
        # The index has the lost ones of this moment, but counts no further than its limit.
        "lost": lost if lost < MOST_COUNTED else max(lost, tally.lost),
        "online": 0 if is_outage else heard - tally.inactive,
        "unknown": heard if is_outage else tally.inactive,
        "never_seen": tally.total - tally.seen,
        "open": tally.open,
        "closed": tally.closed,
    }


def _change(row: Row) -> dict[str, Any]:
    kind, payload = row["type"], row["payload"]
    what = kind.removeprefix("sensor.")
    if kind == STATE_CHANGED:
        what = "opened" if payload.get("data") else "closed"
    sensor = str(payload.get("sensor_id", ""))
    return {
        "key": row["position"],
        "sensor": sensor,
        "address": payload.get("address", ""),
        "what": what,
        "at": row["at"],
        "page": reverse("admin:sensors_sensor_change", args=[sensor]) if sensor else "",
    }
