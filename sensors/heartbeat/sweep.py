"""Find the sensors that have fallen silent. A sweep costs what is due, not what exists."""

from datetime import datetime, timedelta

from django.db import connection, transaction
from django.utils import timezone

from config.common.database import sql
from config.common.times import from_milliseconds, to_milliseconds
from sensors.events import ConnectionLost
from sensors.heartbeat.clock import TOLERANCE, clock
from sensors.heartbeat.deadline import loss_deadline
from sensors.heartbeat.flap_detection import report_flapping
from sensors.heartbeat.ingest_liveness import judged_until, outages_since
from sensors.models import SensorState
from sensors.services.publish import publish_sensor_events

BATCH = 5000


def sweep_once() -> bool:
    """Declare lost whose deadline has passed, or move the deadline of whom was heard; return whether there may be more.

    Nothing is due that cannot be judged yet: during an outage, or while the ingest is behind, nobody is declared lost.
    """
    mark = judged_until()
    if mark is None:
        return False
    with transaction.atomic():
        # A row that the ingest has locked is about to be heard: the sweep passes over it.
        due = (
            SensorState.objects.select_for_update(of=("self",), skip_locked=True)
            .filter(check_at__lte=mark)
            .select_related("sensor")
            .order_by("check_at")[:BATCH]
        )
        states = list(due)
        lost = _judge(states, mark)
        now = timezone.now()
        publish_sensor_events(lost, now=now)
        report_flapping(lost, now=now)
    return len(states) == BATCH


def _judge(states: list[SensorState], mark: datetime) -> list[ConnectionLost]:
    """Set the deadline or the loss of each locked row, write them, and return the losses."""
    if not states:
        return []
    clock.look()
    outages = outages_since(min((_heard_at(state) for state in states if state.seen_at is not None), default=mark))
    lost: list[ConnectionLost] = []
    for state in states:
        state.check_at = _next_look(state, outages)
        if state.check_at is not None and state.check_at <= mark:
            assert state.seen_at is not None
            lost_at = to_milliseconds(_time_of_loss(state, state.seen_at, state.check_at))
            # Cut to the milliseconds that the event has: the end of the loss names the same time.
            state.lost_at, state.check_at = from_milliseconds(lost_at), None
            lost.append(ConnectionLost(state.sensor_id, lost_at, to_milliseconds(state.seen_at)))
    _write(states)
    return lost


def _next_look(state: SensorState, outages: list[tuple[datetime, datetime]]) -> datetime | None:
    """Return when a sensor will be lost unless it sends; None for one that is inactive, lost already or never seen."""
    if not state.sensor.active or state.lost_at is not None or state.seen_at is None:
        return None
    timeout = timedelta(seconds=state.sensor.heartbeat_timeout)
    deadline = loss_deadline(heard_at=_heard_at(state), timeout=timeout, outages=outages)
    # A sensor that was activated again has its timeout from then on: the registry has set this deadline.
    return deadline if state.check_at is None else max(deadline, state.check_at)


def _heard_at(state: SensorState) -> datetime:
    """Return the steady time of the latest signal; rows from before steady time have its time of receipt alone."""
    heard_at = state.heard_at or state.seen_at
    assert heard_at is not None
    return heard_at


def _time_of_loss(state: SensorState, seen_at: datetime, deadline: datetime) -> datetime:
    """Return the deadline by the database's clock: as long after "last seen" as it is in steady time.

    Where that clock was set back since, this would be in the future: then it is the deadline by the clock as it is now.
    """
    counted, now = seen_at + (deadline - _heard_at(state)), deadline - clock.ahead
    return now if counted - now > TOLERANCE else counted


def _write(states: list[SensorState]) -> None:
    # One UPDATE run for each row: `bulk_update` would build a CASE of thousands of branches.
    time = connection.ops.adapt_datetimefield_value
    rows = [(time(state.lost_at), time(state.check_at), state.sensor_id) for state in states]
    with connection.cursor() as cursor:
        cursor.executemany(sql.load_sql("sensors", "write_heartbeat"), rows)
