from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from sensors.events import STATE_CHANGED
from sensors.history.database import DatabaseStore
from sensors.history.values import ClientSensors, Period
from sensors.models import Sensor, SensorClient, StoredEvent
from tests.plans import explain_statements
from tests.sensors.history.past_records import signal
from tests.sensors.registry import make_client

pytestmark = pytest.mark.django_db


class TestReadSignals:
    @pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite compares bytes")
    def test_orders_ids_by_their_bytes_in_a_database_that_speaks_a_language(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                'ALTER TABLE sensors_storedsignal ALTER COLUMN signal_id TYPE varchar(64) COLLATE "en-x-icu"'
            )
        store = DatabaseStore()
        ids = ["a", "B", "b", "A", "_"]
        store.add_signals([signal(id=id) for id in ids])
        first = store.read_signals(["0xA"], Period(), limit=2)
        rest = store.read_signals(["0xA"], Period(), before=(first[-1].at, "0xA", first[-1].id), limit=9)
        assert [row.id for row in [*first, *rest]] == sorted(ids, reverse=True)


@pytest.mark.skipif(connection.vendor != "postgresql", reason="about PostgreSQL's planner")
def test_events_of_a_client_are_read_from_the_newest_end() -> None:
    client, now = make_client(), timezone.now()
    Sensor.objects.bulk_create(Sensor(id=f"s{n}", address="here") for n in range(1000))
    SensorClient.objects.bulk_create(SensorClient(sensor_id=f"s{n}", client=client) for n in range(0, 1000, 4))
    StoredEvent.objects.bulk_create(
        StoredEvent(
            id=n + 1, type=STATE_CHANGED, sensor_id=f"s{n * 7 % 1000}", at=now - timedelta(seconds=n), recorded_at=now
        )
        for n in range(6000)
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE sensors_storedevent, sensors_sensorclient")
    plans = explain_statements(
        lambda: DatabaseStore().read_events(ClientSensors(client.pk), Period(), limit=50), about='"sensors_storedevent"'
    )
    assert len(plans) == 1
    assert "Index Scan Backward using stored_event_at" in plans[0]
