"""The state rows of a batch: locked and read, then written back, in one statement each."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.db import connection

from config.common.database import sql
from config.common.database.sql import in_array
from config.common.times import from_milliseconds, to_milliseconds
from sensors.ingest.fold import State
from sensors.ingest.memory import Memory
from sensors.ingest.signals import Signal
from sensors.models import SensorState, SignalPage


def lock_states(sensor_ids: Iterable[str]) -> tuple[dict[str, State], set[str]]:
    """Lock the state rows in order of id; return the states, and which of the sensors are inactive."""
    # In order of id, as everyone who locks several: two batches never wait for each other in a circle.
    ordered = sorted(set(sensor_ids))
    return _lock_postgresql(ordered) if connection.vendor == "postgresql" else _read_sqlite(ordered)


def recall_pages(states: dict[str, State], signals: Iterable[Signal]) -> None:
    """Add the older pages to the memory of those sensors alone that have sent something which may be a repeat.

    In a steady stream there are none: a signal greater than the locked state cannot have come before.
    """
    late = {
        each.sensor_id
        for each in signals
        if (state := states.get(each.sensor_id)) and not state.is_behind(each) and state.memory.page
    }
    if late:
        for sensor_id, page in SignalPage.objects.filter(sensor_id__in=in_array(late)).values_list(
            "sensor_id", "digests"
        ):
            states[sensor_id].memory.recall(bytes(page))


def write_states(states: Sequence[State]) -> None:
    """Write the folded states back into their locked rows."""
    if not states:
        return
    full = [state for state in states if state.memory.is_page_full]
    sql.bulk_execute("sensors", "write_pages", [(state.sensor_id, *state.memory.turn_page()) for state in full])
    if connection.vendor == "postgresql":
        with sql.postgresql_cursor() as cursor:
            # By the place of the locked rows (`ctid`), which saves a search by key for each.
            cursor.execute(sql.load_sql("sensors", "write_states.postgresql"), _columns(states))
            assert cursor.rowcount == len(states), "a locked row was not where it was read"
        return
    SensorState.objects.bulk_update([_as_row(state) for state in states], [*WRITTEN, *MEMORY], batch_size=500)


def _columns(states: Sequence[State]) -> list[Any]:
    numbers: list[list[int | None]] = [
        [state.value for state in states],
        [state.changed_at for state in states],
        [state.last_at for state in states],
        [state.seen_at for state in states],
        [state.lost_at for state in states],
        [state.check_at for state in states],
        [state.heard_at for state in states],
        [state.memory.page for state in states],
    ]
    return [
        [state.place for state in states],
        [state.last_id for state in states],
        [state.memory.recent for state in states],
        *map(sql.number_array, numbers),
    ]


WRITTEN = ("value", "changed_at", "last_at", "last_id", "seen_at", "lost_at", "check_at", "heard_at")
MEMORY = ("recent", "page")


def _lock_postgresql(sensor_ids: list[str]) -> tuple[dict[str, State], set[str]]:
    """Lock and read the states, then of the registry the inactive sensors and the timeouts that the fold may need.

    The registry is read after the lock, by a statement of its own: in that of the lock a registry row that was changed
    while it waited would still be the old one, and signals would reach a sensor that has just been deactivated.
    """
    with sql.postgresql_cursor() as cursor:
        cursor.execute(sql.load_sql("sensors", "lock_states.postgresql"), [sensor_ids])
        states = {row[0]: _make_state(*row) for row in cursor.fetchall()}
        quiet = [each.sensor_id for each in states.values() if each.lost_at is not None or each.seen_at is None]
        cursor.execute(sql.load_sql("sensors", "read_registry.postgresql"), [list(states), quiet])
        inactive = set()
        for sensor_id, active, timeout in cursor.fetchall():
            states[sensor_id].timeout = timeout
            if not active:
                inactive.add(sensor_id)
    return states, inactive


def _read_sqlite(sensor_ids: list[str]) -> tuple[dict[str, State], set[str]]:
    """Read the states; the write transaction that the caller has begun is the lock."""
    names = ("sensor_id", "sensor__heartbeat_timeout", *WRITTEN, *MEMORY, "sensor__active")
    rows = SensorState.objects.filter(pk__in=sensor_ids).values_list(*names)
    cells: list[list[Any]] = [
        [to_milliseconds(cell) if isinstance(cell, datetime) else cell for cell in row] for row in rows
    ]
    return {row[0]: _make_state(*row[:-1]) for row in cells}, {row[0] for row in cells if not row[-1]}


def _make_state(*cells: Any) -> State:
    """Make a state of a row whose last two cells are the sensor's memory."""
    *own, recent, page = cells
    return State(*own, memory=Memory(recent, page))  # type: ignore[misc]  # how many cells `own` has is not known there


def _as_row(state: State) -> SensorState:
    def time(at: int | None) -> datetime | None:
        return None if at is None else from_milliseconds(at)

    return SensorState(
        sensor_id=state.sensor_id,
        value=state.value,
        changed_at=time(state.changed_at),
        last_at=time(state.last_at),
        last_id=state.last_id,
        seen_at=time(state.seen_at),
        lost_at=time(state.lost_at),
        check_at=time(state.check_at),
        heard_at=time(state.heard_at),
        recent=state.memory.recent,
        page=state.memory.page,
    )
