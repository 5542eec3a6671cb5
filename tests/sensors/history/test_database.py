import pytest
from django.db import connection

from sensors.history.database import DatabaseStore
from sensors.history.values import Period
from tests.sensors.history.past_records import signal

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
