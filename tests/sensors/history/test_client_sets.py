import random
from datetime import timedelta
from typing import Any

import pytest
from clickhouse_driver import Client as Connection
from django.utils import timezone

from sensors.history import client_sets
from sensors.history.clickhouse import ClickHouseStore
from sensors.history.errors import HistoryAway
from sensors.history.values import ClientSensors, Period
from sensors.models import LinkRecord, SensorClient
from sensors.services.links import link, unlink
from tests.sensors.history.past_records import signal
from tests.sensors.registry import make_client, make_sensor

pytestmark = pytest.mark.django_db

SENSORS = [f"s{n}" for n in range(6)]


@pytest.fixture
def client_id(clickhouse_store: ClickHouseStore) -> int:
    """A client with the first three of six sensors, each of which has sent a signal."""
    client = make_client()
    for n, sensor_id in enumerate(SENSORS):
        make_sensor(sensor_id)
        clickhouse_store.add_signals([signal(n, sensor=sensor_id)])
    for sensor_id in SENSORS[:3]:
        link(sensor_id=sensor_id, client_id=client.pk, actor="anna")
    # Long ago: the set that is made is the whole truth.
    LinkRecord.objects.update(at=timezone.now() - timedelta(days=1))
    return client.pk


def read(store: ClickHouseStore, client_id: int) -> list[str]:
    return sorted(row.sensor_id for row in store.read_signals(ClientSensors(client_id), Period(), limit=99))


def sent(url: str) -> int:
    """Return how many ids have been sent to the server."""
    with Connection.from_url(url) as connection:
        return int(connection.execute("SELECT count() FROM client_sensors WHERE sensor_id != ''")[0][0])


def test_the_sensors_are_sent_once_and_changes_are_seen_at_once(
    clickhouse_store: ClickHouseStore, clickhouse_url: str, client_id: int
) -> None:
    assert read(clickhouse_store, client_id) == ["s0", "s1", "s2"]
    unlink(sensor_id="s1", client_id=client_id, actor="anna")
    link(sensor_id="s5", client_id=client_id, actor="anna")
    assert read(clickhouse_store, client_id) == ["s0", "s2", "s5"]
    assert sent(clickhouse_url) == 3


def test_any_order_of_changes_is_seen(clickhouse_store: ClickHouseStore, client_id: int) -> None:
    chance = random.Random(17)
    for _ in range(25):
        change = chance.choice([link, unlink])
        change(sensor_id=chance.choice(SENSORS), client_id=client_id, actor="anna")
        linked = SensorClient.objects.filter(client_id=client_id).order_by("sensor_id")
        assert read(clickhouse_store, client_id) == list(linked.values_list("sensor_id", flat=True))


def test_a_change_that_was_committed_after_the_set_was_made_is_seen(
    clickhouse_store: ClickHouseStore, client_id: int
) -> None:
    assert read(clickhouse_store, client_id) == ["s0", "s1", "s2"]
    SensorClient.objects.filter(sensor_id="s0").delete()
    began = timezone.now() - timedelta(minutes=20)
    LinkRecord.objects.create(at=began, sensor_id="s0", client_id=client_id, is_linked=False)
    assert read(clickhouse_store, client_id) == ["s1", "s2"]


def test_many_changes_make_another_set_and_only_one(
    clickhouse_store: ClickHouseStore, clickhouse_url: str, client_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_sets, "MOST_CHANGED", 1)
    read(clickhouse_store, client_id)
    for sensor_id in ("s3", "s4"):
        link(sensor_id=sensor_id, client_id=client_id, actor="anna")
    assert [read(clickhouse_store, client_id) for _ in range(3)] == [SENSORS[:5]] * 3
    assert sent(clickhouse_url) == 3 + 5


def test_a_set_does_not_last(
    clickhouse_store: ClickHouseStore, clickhouse_url: str, client_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    read(clickhouse_store, client_id)
    SensorClient.objects.filter(sensor_id="s0").delete()  # as when a backup was restored: there is no record of it
    monkeypatch.setattr(client_sets, "LIFETIME", timedelta(0))
    assert read(clickhouse_store, client_id) == ["s1", "s2"]


def test_a_set_that_is_lost_is_made_again(
    clickhouse_store: ClickHouseStore, clickhouse_url: str, client_id: int
) -> None:
    read(clickhouse_store, client_id)
    with Connection.from_url(clickhouse_url) as connection:
        connection.execute("TRUNCATE TABLE client_sensors")
    assert read(clickhouse_store, client_id) == ["s0", "s1", "s2"]


def test_a_set_that_was_cut_off_is_not_used(
    clickhouse_store: ClickHouseStore, client_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    insert: Any = clickhouse_store._client_sets._insert

    def cut(columns: list[list[Any]]) -> None:
        if columns[3] == [""]:
            raise HistoryAway
        insert([column[:1] for column in columns])

    with monkeypatch.context() as broken:
        broken.setattr(clickhouse_store._client_sets, "_insert", cut)
        with pytest.raises(HistoryAway):
            read(clickhouse_store, client_id)
    assert read(clickhouse_store, client_id) == ["s0", "s1", "s2"]


def test_sets_of_earlier_days_are_dropped(
    clickhouse_store: ClickHouseStore, clickhouse_url: str, client_id: int
) -> None:
    clickhouse_store.prepare()
    with Connection.from_url(clickhouse_url) as connection:
        today, old = timezone.now(), timezone.now() - timedelta(days=3)
        for day in (today, old):
            connection.execute("INSERT INTO client_sensors VALUES", [(int(f"{day:%Y%m%d}"), 7, 1, "x", 0)])
        read(clickhouse_store, client_id)
        days = connection.execute("SELECT DISTINCT day FROM client_sensors")
    assert days == [(int(f"{today:%Y%m%d}"),)]
