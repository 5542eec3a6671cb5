"""Report the doors that stand open past their limit: an event, messages to clients and an alert, once for each opening.

Only what is known counts. In an outage on our own side no door is known to be open, and after one a door is reported
once its sensor has been heard again; so is one whose connection was lost. A muted sensor's door is looked at when the
mute ends.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_noop

from config.common.correlation import correlated, new_correlation_id
from config.common.database.sql import in_array
from config.common.times import format_time, from_milliseconds, to_milliseconds
from notifications.services.alerts import raise_alert
from sensors.events import LEFT_OPEN, LeftOpen
from sensors.heartbeat.clock import clock
from sensors.heartbeat.deadline import open_deadline
from sensors.heartbeat.ingest_liveness import judged_until, outages_since
from sensors.models import OpenDoor, Sensor, SensorState
from sensors.services.publish import publish_sensor_events
from sensors.subjects import subject_of

BATCH = 200
LOOK_AGAIN = timedelta(minutes=1)
"""How soon after an outage a door is looked at again whose sensor has not been heard since."""
TITLE = gettext_noop("The door of sensor %(sensor_id)s has been left open")


def report_left_open_once() -> bool:
    """Report the doors whose limit has passed, or move the look at them; return whether there may be more.

    As in the sweep of the heartbeat the lock of the state row is the claim: all is one transaction, so whoever dies in
    it has done nothing, and a door that was reported is due no more.
    """
    if not OpenDoor.objects.filter(due_at__lte=clock.now()).exists():
        return False
    mark = judged_until()
    if mark is None:
        return False
    with transaction.atomic():
        # A row that the ingest has locked is about to change: the sweep passes over it.
        due = (
            SensorState.objects.select_for_update(of=("self",), skip_locked=True)
            .filter(sensor__open_door__due_at__lte=mark)
            .order_by("sensor__open_door__due_at")[:BATCH]
        )
        states = {state.pk: state for state in due}
        # After the lock, not joined to it: a statement that locks sees other tables as they were before.
        doors = list(OpenDoor.objects.filter(sensor__in=in_array(states), due_at__lte=mark).select_related("sensor"))
        left = _judge(doors, states, mark)
        publish_sensor_events(left, now=timezone.now())
        _raise_alerts(left, {door.sensor_id: door.sensor for door in doors})
    return len(states) == BATCH


def _judge(doors: Sequence[OpenDoor], states: dict[str, SensorState], mark: datetime) -> list[LeftOpen]:
    """Set the report or the next look of each row, write them, and return what is to be reported."""
    if not doors:
        return []
    clock.look()
    outages = outages_since(min(door.heard_at for door in doors))
    now, left = clock.time(), list[LeftOpen]()
    for door in doors:
        limit = door.sensor.open_limit
        assert limit is not None, "a door without a limit has no row"
        deadline = open_deadline(heard_at=door.heard_at, limit=timedelta(seconds=limit), outages=outages)
        door.due_at = _next_look(states[door.pk], door.sensor, deadline, outages, mark)
        if door.due_at is not None and door.due_at <= mark:
            at = min(door.opened_at + (deadline - door.heard_at), now)
            chain = door.correlation_id or new_correlation_id()
            left.append(LeftOpen(door.pk, to_milliseconds(at), to_milliseconds(door.opened_at), limit, chain))
            door.due_at, door.reported_at = None, now
    OpenDoor.objects.bulk_update(doors, ["due_at", "reported_at"])
    return left


def _next_look(
    state: SensorState,
    sensor: Sensor,
    deadline: datetime,
    outages: Sequence[tuple[datetime, datetime]],
    mark: datetime,
) -> datetime | None:
    """Return when to look at a door; up to `mark` it is to be reported, None: the end of its loss will say when."""
    if state.lost_at is not None:
        return None
    if sensor.muted_until is not None and mark < sensor.muted_until + clock.ahead:
        return max(deadline, sensor.muted_until + clock.ahead)
    listening_again = max((end for _, end in outages), default=None)
    heard_at = state.heard_at or state.seen_at
    if deadline <= mark and listening_again is not None and (heard_at is None or heard_at < listening_again):
        return mark + LOOK_AGAIN
    return deadline


def _raise_alerts(left: Sequence[LeftOpen], sensors: dict[str, Sensor]) -> None:
    for each in left:
        detail = {
            "sensor_id": each.sensor_id,
            "address": sensors[each.sensor_id].address,
            "opened_at": format_time(from_milliseconds(each.opened_at)),
            "limit_seconds": each.limit_seconds,
        }
        with correlated(each.correlation_id):
            raise_alert(LEFT_OPEN, subject_of(each.sensor_id), TITLE, detail)
