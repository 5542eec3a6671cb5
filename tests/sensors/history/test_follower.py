import time
from typing import Any

import pytest
from django.utils import timezone

from notifications.errors import FollowerWaits
from notifications.followers import followings
from notifications.models import Delivery, Event, Follower, Incident
from notifications.services.events import NewEvent, record_events
from notifications.services.relay import relay_once
from notifications.services.retention import expire_events
from notifications.services.sequencer import stamp_once
from sensors.events import CONNECTION_LOST
from sensors.history import follower
from sensors.history.clickhouse import ClickHouseStore
from sensors.history.database import DatabaseStore
from sensors.history.errors import HistoryAway
from sensors.history.follower import FOLLOWING, copy_events
from sensors.history.queries import read_attempts
from sensors.history.store import HistoryStore
from sensors.history.values import Period
from sensors.models import StoredEvent
from tests.notifications.sending.deliveries import answer, claim, enqueue_state, make_due, make_endpoint
from tests.sensors.registry import link, make_client, make_sensor

pytestmark = pytest.mark.django_db


def happen(*types: str) -> list[Event]:
    facts = [
        NewEvent(type=type, subject="sensor/0xA", at=timezone.now(), payload={"sensor_id": "0xA"}) for type in types
    ]
    record_events(facts)
    return list(Event.objects.order_by("id"))


def owe_about(sensor_id: str) -> Delivery:
    client = make_client()
    make_sensor(sensor_id)
    link(sensor_id, client)
    return enqueue_state(client.endpoint, f"sensor/{sensor_id}", correlation_id="chain-0001")


def carry() -> None:
    while stamp_once():
        pass
    relay_once(FOLLOWING)


@pytest.mark.embedded
class TestKeepEvents:
    def test_is_registered_so_that_no_event_is_dropped_before_it_is_history(self) -> None:
        assert FOLLOWING in followings()

    def test_carries_the_events_of_sensors_and_no_others(self) -> None:
        happen(CONNECTION_LOST, "registry.changed")
        stamp_once()
        relay_once(FOLLOWING)
        assert [row.type for row in StoredEvent.objects.all()] == [CONNECTION_LOST]
        assert Follower.objects.get(name="history").position == 2

    def test_a_second_time_changes_nothing(self) -> None:
        events = happen(CONNECTION_LOST)
        events[0].refresh_from_db()
        copy_events(events)
        copy_events(events)
        assert StoredEvent.objects.count() == 1

    def test_waits_without_an_incident_while_the_store_is_away(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def away(*args: Any) -> None:
            raise HistoryAway

        monkeypatch.setattr(DatabaseStore, "add_events", away)
        happen(CONNECTION_LOST)
        stamp_once()
        for _ in range(12):
            Follower.objects.update(due_at=timezone.now())
            relay_once(FOLLOWING)
        assert Follower.objects.get(name="history").position == 0
        assert not Incident.objects.exists()

    def test_history_outlives_the_outbox(self, settings: Any) -> None:
        happen(CONNECTION_LOST)
        stamp_once()
        relay_once(FOLLOWING)
        Event.objects.all().delete()
        expire_events()
        assert len(DatabaseStore().read_events(["0xA"], Period(), limit=9)) == 1


@pytest.mark.embedded
class TestAttempts:
    def test_carries_the_attempts_to_tell_of_a_sensor(self) -> None:
        delivery = owe_about("0xA")
        answer(*claim(), status=503)
        carry()
        [tried] = read_attempts(["0xA"], Period(), limit=9)
        assert (tried.delivery, tried.endpoint, tried.type) == (delivery.pk, delivery.endpoint_id, "thing.changed")
        assert (tried.attempt, tried.status, tried.became) == (1, 503, "pending")
        assert (tried.url, tried.duration_ms, tried.error) == ("https://watch.example/hook", 5, "")
        assert (tried.sensor_id, tried.correlation_id) == ("0xA", "chain-0001")

    def test_each_attempt_is_one_also_when_it_is_carried_twice(self) -> None:
        delivery = owe_about("0xA")
        answer(*claim(), status=500)
        make_due(delivery)
        answer(*claim(), status=200)
        carry()
        copy_events(list(Event.objects.order_by("position")))
        assert [row.became for row in read_attempts(["0xA"], Period(), limit=9)] == ["delivered", "pending"]

    def test_what_is_about_no_sensor_is_left_out(self) -> None:
        enqueue_state(make_endpoint(), "alert/5")
        answer(*claim())
        carry()
        assert not StoredEvent.objects.exists()


class TestWithClickHouse:
    def test_crash_between_insert_and_position_doubles_nothing(
        self, clickhouse_store: ClickHouseStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(clickhouse_store, "seconds_between_inserts", 0.0)
        happen(CONNECTION_LOST, CONNECTION_LOST)
        stamp_once()
        copy_events(list(Event.objects.order_by("position")))
        relay_once(FOLLOWING)
        assert len(clickhouse_store.read_events(["0xA"], Period(), limit=9)) == 2

    def test_waits_when_the_server_is_gone(self, settings: Any, unused_tcp_port: int) -> None:
        settings.CLICKHOUSE_URL = f"clickhouse://default@127.0.0.1:{unused_tcp_port}/default"
        events = happen(CONNECTION_LOST)
        events[0].refresh_from_db()
        with pytest.raises(FollowerWaits):
            copy_events(events)

    def test_small_batches_leave_a_breath_between_inserts(
        self, clickhouse_store: HistoryStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(follower, "_last_insert", float("-inf"))
        events = happen(CONNECTION_LOST)
        events[0].refresh_from_db()
        begun = time.monotonic()
        copy_events(events)
        copy_events(events)
        assert 0.9 < time.monotonic() - begun < 60
