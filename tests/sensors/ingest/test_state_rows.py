"""The state rows of a batch beside others who write them."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from django.db import connection, connections, transaction

from config.common.times import to_milliseconds
from sensors.ingest.state_rows import lock_states, write_states
from sensors.models import Sensor, SensorState
from tests.sensors.registry import make_sensor

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.django_db(transaction=True)
class TestLockStates:
    def test_one_that_had_to_wait_reads_and_writes_the_row_that_the_other_left(self) -> None:
        make_sensor("a")
        locked, committed = threading.Event(), threading.Event()

        def write_first() -> None:
            try:
                with transaction.atomic():
                    lock_states(["a"])
                    SensorState.objects.filter(pk="a").update(value=1, changed_at=NOON, last_at=NOON, seen_at=NOON)
                    locked.set()
                    committed.wait(1)
            finally:
                connections.close_all()

        with ThreadPoolExecutor(1) as other:
            first = other.submit(write_first)
            assert locked.wait(60)
            with transaction.atomic():
                states, _ = lock_states(["a"])
                assert (states["a"].value, states["a"].last_at) == (1, to_milliseconds(NOON))
                states["a"].value = 0
                write_states([states["a"]])
            first.result()
        assert SensorState.objects.get(pk="a").value == 0

    def test_a_sensor_deactivated_while_it_waited_is_inactive(self) -> None:
        make_sensor("a")
        locked = threading.Event()

        def deactivate() -> None:
            try:
                with transaction.atomic():
                    SensorState.objects.select_for_update().get(pk="a")
                    locked.set()
                    threading.Event().wait(0.5)
                    Sensor.objects.filter(pk="a").update(active=False)
            finally:
                connections.close_all()

        with ThreadPoolExecutor(1) as other:
            done = other.submit(deactivate)
            assert locked.wait(60)
            with transaction.atomic():
                assert lock_states(["a"])[1] == {"a"}
            done.result()


@pytest.mark.django_db
def test_the_planner_is_told_that_the_index_is_cheaper_than_the_table() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SHOW random_page_cost")
        assert cursor.fetchone() == ("1.1",)


@pytest.mark.embedded
@pytest.mark.django_db
class TestWriteStates:
    def test_what_the_fold_did_not_set_stays(self) -> None:
        make_sensor("a")
        SensorState.objects.update(value=1, changed_at=NOON, last_at=NOON, seen_at=NOON, check_at=NOON)
        with transaction.atomic():
            states, _ = lock_states(["a"])
            states["a"].last_id = "later"
            write_states([states["a"]])
        row = SensorState.objects.get()
        assert (row.changed_at, row.check_at, row.last_id) == (NOON, NOON, "later")
