from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from config.common.times import format_time, to_milliseconds, truncate_to_milliseconds
from notifications.models import Delivery, Endpoint
from notifications.services.endpoints import requeue_missed_once
from sensors.heartbeat.sweep import sweep_once
from sensors.heartbeat.withheld_losses import publish_unmuted_losses_once
from sensors.ingest.apply import apply_signals
from sensors.ingest.signals import Signal
from sensors.models import Client, Sensor, SensorClient, SensorState
from sensors.services import links
from sensors.services.clients import update_client
from sensors.services.sensors import update_sensor
from tests.sensors.registry import hear, link, make_client, make_sensor

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

HOUR = timedelta(hours=1)


@pytest.fixture
def client() -> Client:
    return make_client()


def lose(*sensor_ids: str) -> datetime:
    """Let sensors be silent for two hours and be found so; return since when they are lost."""
    seen_at = truncate_to_milliseconds(timezone.now() - 2 * HOUR)
    SensorState.objects.filter(pk__in=sensor_ids).update(
        value=1,
        changed_at=seen_at,
        last_at=seen_at,
        last_id="a",
        seen_at=seen_at,
        heard_at=None,
        check_at=seen_at + HOUR,
    )
    hear()
    sweep_once()
    return seen_at + HOUR


def speak(*sensor_ids: str) -> None:
    now = to_milliseconds(timezone.now())
    apply_signals([Signal(sensor_id, now, "b", 1, now) for sensor_id in sensor_ids])


def lose_muted(client: Client) -> datetime:
    make_sensor("0xA", muted_until=timezone.now() + HOUR)
    link("0xA", client)
    return lose("0xA")


def end_mute() -> None:
    """Let the time pass by which the mute ends."""
    past = timezone.now() - timedelta(seconds=1)
    Sensor.objects.filter(muted_until__isnull=False).update(muted_until=past)
    Client.objects.filter(muted_until__isnull=False).update(muted_until=past)
    SensorClient.objects.filter(tell_at__isnull=False).update(tell_at=past)


def sent() -> list[tuple[str, str]]:
    rows = Delivery.objects.filter(family__in=["connection", "list"]).order_by("pk")
    return list(rows.values_list("type", "status"))


class TestMuteEnds:
    def test_what_is_still_lost_is_told_with_the_time_of_the_loss(self, client: Client) -> None:
        lost_at = lose_muted(client)
        assert not publish_unmuted_losses_once()
        assert sent() == [("sensor.connection_lost", "cancelled")]
        end_mute()
        publish_unmuted_losses_once()
        told = Delivery.objects.get(status="pending")
        assert (told.type, told.body["at"]) == ("sensor.connection_lost", format_time(lost_at))
        assert told.body["last_seen_at"] == format_time(lost_at - HOUR)
        publish_unmuted_losses_once()
        assert Delivery.objects.count() == 2

    def test_lifted_for_the_sensor(self, client: Client) -> None:
        lose_muted(client)
        update_sensor(sensor_id="0xA", muted_until=None, actor="test")
        publish_unmuted_losses_once()
        assert sent()[1:] == [("sensor.connection_lost", "pending")]

    def test_lifted_for_the_client(self, client: Client) -> None:
        make_sensor()
        link("0xA", client)
        update_client(client_id=client.pk, muted_until=timezone.now() + HOUR, actor="test")
        lose("0xA")
        update_client(client_id=client.pk, muted_until=None, actor="test")
        publish_unmuted_losses_once()
        assert sent() == [("sensor.connection_lost", "cancelled"), ("sensor.connection_lost", "pending")]

    def test_put_off_it_is_told_at_the_new_end(self, client: Client) -> None:
        lose_muted(client)
        later = truncate_to_milliseconds(timezone.now() + 2 * HOUR)
        update_sensor(sensor_id="0xA", muted_until=later, actor="test")
        publish_unmuted_losses_once()
        assert sent() == [("sensor.connection_lost", "cancelled")]
        assert SensorClient.objects.get().tell_at == later

    def test_of_the_sensor_while_the_client_is_muted_still(self, client: Client) -> None:
        until = truncate_to_milliseconds(timezone.now() + 2 * HOUR)
        Client.objects.update(muted_until=until)
        lose_muted(client)
        update_sensor(sensor_id="0xA", muted_until=None, actor="test")
        publish_unmuted_losses_once()
        assert sent() == [("sensor.connection_lost", "cancelled")]
        assert SensorClient.objects.get().tell_at == until

    def test_five_of_one_client_are_one_list(self, client: Client) -> None:
        for n in range(5):
            make_sensor(f"s{n}")
            link(f"s{n}", client)
        Client.objects.update(muted_until=timezone.now() + HOUR)
        lose(*(f"s{n}" for n in range(5)))
        end_mute()
        publish_unmuted_losses_once()
        told = Delivery.objects.get(status="pending")
        assert (told.type, len(told.body["sensors"])) == ("sensor.connections_lost", 5)

    def test_only_who_was_kept_from_it_is_told(self, client: Client) -> None:
        make_sensor()
        link("0xA", client)
        link("0xA", make_client("quiet", muted_until=timezone.now() + HOUR))
        lose("0xA")
        end_mute()
        publish_unmuted_losses_once()
        assert Delivery.objects.filter(endpoint=client.endpoint).count() == 1
        assert Delivery.objects.filter(status="pending").count() == 2

    def test_a_sensor_taken_out_of_service_is_not_told(self, client: Client) -> None:
        lose_muted(client)
        update_sensor(sensor_id="0xA", active=False, actor="test")
        end_mute()
        assert not publish_unmuted_losses_once()
        assert sent() == [("sensor.connection_lost", "cancelled")]
        assert SensorClient.objects.get().tell_at is None


class TestRestore:
    def test_is_not_told_to_who_was_kept_from_the_loss(self, client: Client) -> None:
        lose_muted(client)
        speak("0xA")
        rest = Delivery.objects.filter(family="connection").latest("pk")
        assert (rest.type, rest.status) == ("sensor.connection_restored", "cancelled")
        assert rest.reason == "the client was not notified of the loss"
        end_mute()
        publish_unmuted_losses_once()
        assert not Delivery.objects.filter(family="connection", status="pending").exists()

    def test_does_not_come_back_with_its_client(self, client: Client) -> None:
        lose_muted(client)
        speak("0xA")
        Endpoint.objects.update(is_back=True)
        requeue_missed_once()
        assert not Delivery.objects.filter(family="connection", status="pending").exists()

    def test_is_told_once_the_loss_was(self, client: Client) -> None:
        lose_muted(client)
        end_mute()
        publish_unmuted_losses_once()
        speak("0xA")
        assert sent()[1:] == [("sensor.connection_lost", "superseded"), ("sensor.connection_restored", "pending")]

    def test_is_told_under_a_mute_that_began_after_the_loss(self, client: Client) -> None:
        make_sensor()
        link("0xA", client)
        lose("0xA")
        update_sensor(sensor_id="0xA", muted_until=timezone.now() + HOUR, actor="test")
        speak("0xA")
        assert sent()[-1] == ("sensor.connection_restored", "pending")

    def test_is_not_told_to_who_was_linked_after_the_loss(self, client: Client) -> None:
        make_sensor()
        lose("0xA")
        links.link(sensor_id="0xA", client_id=client.pk, actor="test")
        speak("0xA")
        assert sent() == [("sensor.connection_restored", "cancelled")]
        lose("0xA")
        speak("0xA")
        assert sent()[1:] == [("sensor.connection_lost", "superseded"), ("sensor.connection_restored", "pending")]

    def test_in_a_list_are_only_those_whose_loss_was_told(self, client: Client) -> None:
        for n in range(6):
            make_sensor(f"s{n}", muted_until=timezone.now() + HOUR if n == 0 else None)
            link(f"s{n}", client)
        names = [f"s{n}" for n in range(6)]
        lose(*names)
        speak(*names)
        told = Delivery.objects.get(type="sensor.connections_restored")
        assert [each["sensor_id"] for each in told.body["sensors"]] == names[1:]
