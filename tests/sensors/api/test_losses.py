"""Silence over REST: losses, restores and withdrawals as the sensor, its events and its deliveries tell them."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from config.common.times import format_time
from sensors.heartbeat.sweep import sweep_once
from sensors.models import Client, SensorState
from tests.sensors.api.callers import Caller, of_client, service
from tests.sensors.heartbeat.test_sweep import HOUR, silent
from tests.sensors.registry import hear, link, make_client

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


@pytest.fixture
def desk() -> Caller:
    return service("signals:write", "registry:read", "registry:write", "history:read")


@pytest.fixture
def owner() -> Client:
    """A client whose sensor spoke two hours ago and may be silent for one."""
    client = make_client()
    silent()
    link("0xA", client)
    return client


@pytest.fixture
def lost_at(owner: Client) -> datetime:
    """The time of its loss, which has been found."""
    lose()
    moment = SensorState.objects.get().lost_at
    assert moment is not None
    return moment


def lose() -> None:
    hear()
    sweep_once()


def newest(desk: Caller, kind: str = "events", of: str = "sensors/0xA") -> Any:
    return desk("GET", f"/{of}/{kind}/").json()["results"][0]


def say(desk: Caller, at: datetime, id: str = "b") -> None:
    body = {"sensor_id": "0xA", "data": 1, "at": format_time(at), "id": id}
    assert desk("POST", "/signals/", body).json()["accepted"] == 1


class TestLoss:
    def test_is_told_by_the_sensor_and_by_its_events(self, lost_at: datetime, desk: Caller) -> None:
        assert desk("GET", "/sensors/0xA/").json()["connection"] == "lost"
        event = newest(desk)
        assert event == {
            "type": "sensor.connection_lost",
            "at": format_time(lost_at),
            "correlation_id": event["correlation_id"],
            "sensor_id": "0xA",
            "address": "1 Gate Street",
            "last_seen_at": format_time(lost_at - HOUR),
        }
        assert event["correlation_id"]

    def test_its_client_reads_it_too(self, lost_at: datetime, owner: Client, desk: Caller) -> None:
        of_owner = f"clients/{owner.pk}"
        assert newest(of_client(owner), of=of_owner) == newest(desk, of=of_owner) == newest(desk)

    def test_is_a_delivery_beside_that_of_the_state(self, owner: Client, desk: Caller) -> None:
        say(desk, timezone.now() - 2 * HOUR, "a0")
        body = {"sensor_id": "0xA", "data": 0, "at": format_time(timezone.now()), "id": "b"}
        desk("POST", "/signals/", body)
        SensorState.objects.update(seen_at=timezone.now() - 2 * HOUR, heard_at=None, check_at=timezone.now() - HOUR)
        lose()
        rows = desk("GET", "/sensors/0xA/deliveries/").json()["results"]
        assert [(row["type"], row["status"]) for row in rows] == [
            ("sensor.connection_lost", "pending"),
            ("sensor.state_changed", "pending"),
        ]

    def test_of_a_muted_sensor_is_in_its_events_and_told_to_nobody(self, owner: Client, desk: Caller) -> None:
        until = format_time(timezone.now() + HOUR)
        assert desk("PATCH", "/sensors/0xA/", {"muted_until": until}).status_code == 200
        lose()
        assert newest(desk)["muted"] is True
        delivery = newest(desk, "deliveries")
        assert (delivery["status"], delivery["reason"]) == ("cancelled", "the sensor is muted")

    def test_a_muted_client_is_not_told(self, owner: Client, desk: Caller) -> None:
        until = format_time(timezone.now() + HOUR)
        assert desk("PATCH", f"/clients/{owner.pk}/", {"muted_until": until}).status_code == 200
        lose()
        assert newest(desk)["type"] == "sensor.connection_lost"
        delivery = newest(desk, "deliveries")
        assert (delivery["status"], delivery["reason"]) == ("cancelled", "the client is muted")

    def test_once_the_mute_is_over_it_is_told(self, owner: Client, desk: Caller) -> None:
        desk("PATCH", "/sensors/0xA/", {"muted_until": format_time(timezone.now() - HOUR)})
        lose()
        assert "muted" not in newest(desk)
        assert newest(desk, "deliveries")["status"] == "pending"


class TestEndOfLoss:
    def test_a_signal_after_it_restores_dated_by_the_signal(self, lost_at: datetime, desk: Caller) -> None:
        at = lost_at + timedelta(minutes=30, milliseconds=1)
        say(desk, at)
        event = newest(desk)
        assert event == {
            "type": "sensor.connection_restored",
            "at": format_time(at),
            "correlation_id": event["correlation_id"],
            "sensor_id": "0xA",
            "address": "1 Gate Street",
            "data": 1,
            "lost_at": format_time(lost_at),
            "downtime_seconds": 1800,
        }
        assert desk("GET", "/sensors/0xA/").json()["connection"] == "online"

    def test_one_from_long_before_it_restores_dated_by_the_loss(self, lost_at: datetime, desk: Caller) -> None:
        say(desk, lost_at - HOUR - timedelta(milliseconds=1))
        event = newest(desk)
        assert (event["type"], event["at"], event["downtime_seconds"]) == (
            "sensor.connection_restored",
            format_time(lost_at),
            0,
        )

    @pytest.mark.parametrize("before", [timedelta(0), HOUR - timedelta(milliseconds=2)])
    def test_one_from_within_the_timeout_before_it_withdraws_it(
        self, lost_at: datetime, desk: Caller, before: timedelta
    ) -> None:
        say(desk, lost_at - before)
        event = newest(desk)
        assert event == {
            "type": "sensor.loss_withdrawn",
            "at": event["at"],
            "correlation_id": event["correlation_id"],
            "sensor_id": "0xA",
            "address": "1 Gate Street",
            "lost_at": format_time(lost_at),
        }
        assert desk("GET", "/sensors/0xA/").json()["connection"] == "online"

    def test_a_repeat_ends_nothing(self, owner: Client, desk: Caller) -> None:
        at = timezone.now()
        say(desk, at)
        SensorState.objects.update(seen_at=at - 2 * HOUR, heard_at=None, check_at=at - HOUR)
        lose()
        say(desk, at)
        assert desk("GET", "/sensors/0xA/").json()["connection"] == "lost"
        assert newest(desk)["type"] == "sensor.connection_lost"

    def test_supersedes_the_pending_message_of_the_loss(self, lost_at: datetime, desk: Caller) -> None:
        say(desk, timezone.now())
        restored, lost = desk("GET", "/sensors/0xA/deliveries/").json()["results"]
        assert (lost["status"], lost["reason"]) == ("superseded", f"superseded by {restored['id']}")
        assert (restored["type"], restored["status"]) == ("sensor.connection_restored", "pending")


class TestMany:
    def lose_many(self, count: int, client: Client) -> None:
        for n in range(count):
            silent(f"s{n}")
            link(f"s{n}", client)
        lose()

    def test_four_of_one_client_are_four_messages(self, desk: Caller) -> None:
        client = make_client()
        self.lose_many(4, client)
        rows = desk("GET", f"/clients/{client.pk}/deliveries/").json()["results"]
        assert [(row["type"], row["sensor"]) for row in rows] == [
            ("sensor.connection_lost", f"s{n}") for n in reversed(range(4))
        ]

    def test_five_are_one_message_and_five_events(self, desk: Caller) -> None:
        client = make_client()
        self.lose_many(5, client)
        (row,) = desk("GET", f"/clients/{client.pk}/deliveries/").json()["results"]
        assert (row["type"], row["sensor"]) == ("sensor.connections_lost", None)
        events = desk("GET", f"/clients/{client.pk}/events/").json()["results"]
        assert [event["type"] for event in events] == ["sensor.connection_lost"] * 5

    def test_five_sensors_of_five_clients_are_five_messages(self, desk: Caller) -> None:
        clients = [make_client(str(n)) for n in range(5)]
        for n, client in enumerate(clients):
            silent(f"s{n}")
            link(f"s{n}", client)
        lose()
        for client in clients:
            assert newest(desk, "deliveries", of=f"clients/{client.pk}")["type"] == "sensor.connection_lost"


class TestCancelled:
    def cancelled(self, desk: Caller) -> str:
        row = newest(desk, "deliveries")
        assert (row["status"], row["next_attempt_at"]) == ("cancelled", None)
        return str(row["reason"])

    def test_when_the_client_is_unlinked(self, lost_at: datetime, owner: Client, desk: Caller) -> None:
        assert desk("DELETE", f"/sensors/0xA/clients/{owner.pk}/").status_code == 204
        assert self.cancelled(desk) == "unlinked"

    def test_when_the_client_is_inactive(self, lost_at: datetime, owner: Client, desk: Caller) -> None:
        assert desk("DELETE", f"/clients/{owner.pk}/").status_code == 204
        assert self.cancelled(desk) == "the client is inactive"

    def test_when_the_sensor_is_inactive(self, lost_at: datetime, owner: Client, desk: Caller) -> None:
        assert desk("DELETE", "/sensors/0xA/").status_code == 204
        assert self.cancelled(desk) == "the sensor is inactive"

    def test_an_inactive_sensor_is_not_lost(self, owner: Client, desk: Caller) -> None:
        desk("DELETE", "/sensors/0xA/")
        lose()
        assert desk("GET", "/sensors/0xA/events/").json()["results"] == []
        assert desk("GET", "/sensors/0xA/").json()["connection"] == "unknown"
