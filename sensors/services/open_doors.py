"""Doors that stand open and have a limit: their rows follow signals and registry, while the state rows are locked.

A door without a limit has no row, and signals that change nothing never come here.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.translation import gettext_noop

from config.common.correlation import correlation_id
from config.common.database.sql import in_array
from config.common.times import from_milliseconds
from notifications.services.alerts import close_alert
from sensors.events import LEFT_OPEN, ConnectionRestored, LossWithdrawn, SensorEvent, StateChanged
from sensors.heartbeat.clock import clock
from sensors.models import OpenDoor
from sensors.subjects import subject_of

CLOSED = gettext_noop("the door is closed")
LIMIT_CHANGED = gettext_noop("the limit has been changed")
UNWATCHED = gettext_noop("the door has no limit any more, or its sensor is inactive")


@dataclass(frozen=True)
class OpenState:
    """A door that is open, and its limit in seconds; None where nobody minds."""

    sensor_id: str
    opened_at: datetime
    limit: int | None


def follow_doors(events: Iterable[tuple[SensorEvent, str]], limits: Mapping[str, int]) -> None:
    """Take openings and closings into the rows of doors that have a limit; each event comes with its correlation id."""
    newest: dict[str, OpenDoor | None] = {}
    heard = set[str]()
    for event, chain in events:
        limit = limits.get(event.sensor_id)
        if limit is None:
            continue
        if isinstance(event, StateChanged):
            opened_at = from_milliseconds(event.at)
            newest[event.sensor_id] = _door(event.sensor_id, opened_at, limit, chain) if event.data else None
        elif isinstance(event, ConnectionRestored | LossWithdrawn):
            heard.add(event.sensor_id)
    if newest:
        unwatch_doors(newest, CLOSED)
        OpenDoor.objects.bulk_create([door for door in newest.values() if door is not None])
    if heard:
        # While it was lost nobody knew whether it was still open.
        OpenDoor.objects.filter(sensor__in=in_array(heard), reported_at=None).update(due_at=clock.now())


def recheck_doors(doors: Sequence[OpenState]) -> None:
    """Judge open doors anew whose limit, mute or activity has changed, in the transaction of that change."""
    unwatch_doors([door.sensor_id for door in doors if door.limit is None], UNWATCHED)
    known = OpenDoor.objects.in_bulk([door.sensor_id for door in doors])
    fresh = []
    for door in doors:
        if door.limit is None:
            continue
        row, new = known.get(door.sensor_id), _door(door.sensor_id, door.opened_at, door.limit, correlation_id())
        if row is not None and row.reported_at is not None and new.limit_at <= clock.time():
            OpenDoor.objects.filter(pk=row.pk).update(limit_at=new.limit_at)  # too long by either limit
        else:
            fresh.append(new)
    if fresh:
        unwatch_doors([door.sensor_id for door in fresh], LIMIT_CHANGED)
        OpenDoor.objects.bulk_create(fresh)


def unwatch_doors(sensor_ids: Collection[str], reason: str) -> None:
    """Delete the rows of these doors, and close the alerts of those that had been reported."""
    if not sensor_ids:
        return
    rows = OpenDoor.objects.filter(sensor__in=in_array(sensor_ids))
    reported = list(rows.filter(reported_at__isnull=False).values_list("sensor_id", flat=True))
    rows.delete()
    for sensor_id in sorted(reported):
        close_alert(LEFT_OPEN, subject_of(sensor_id), reason)


def _door(sensor_id: str, opened_at: datetime, limit: int, chain: str) -> OpenDoor:
    heard_at, limit_time = opened_at + clock.ahead, timedelta(seconds=limit)
    return OpenDoor(
        sensor_id=sensor_id,
        opened_at=opened_at,
        limit_at=opened_at + limit_time,
        heard_at=heard_at,
        due_at=heard_at + limit_time,
        correlation_id=chain,
    )
