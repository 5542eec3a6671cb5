"""The registry is changed while signals come in: neither waits for the other for ever, and neither undoes the other."""

import random
from collections.abc import Callable

import pytest
from django.utils import timezone

from config.common.times import to_milliseconds
from notifications.models import Delivery
from notifications.services.resend import resend_dead_letters
from sensors.ingest.apply import apply_signals
from sensors.ingest.signals import Signal
from sensors.models import Sensor, SensorState
from sensors.services.clients import deactivate_client, update_client
from sensors.services.imports import import_sensors
from sensors.services.links import link, unlink
from sensors.services.sensors import set_sensors_active, update_sensor
from tests.sensors.registry import make_client, make_sensor

pytestmark = [pytest.mark.embedded, pytest.mark.django_db(transaction=True)]

IDS = [f"s{n}" for n in range(20)]


def send(ids: list[str], rounds: int, seed: int = 0) -> None:
    """Send signals that change every sensor in every round, in an order of their own."""
    chance = random.Random(seed)
    for turn in range(rounds):
        now = to_milliseconds(timezone.now())
        apply_signals([Signal(each, now, f"{seed}-{turn}", turn % 2, now) for each in chance.sample(ids, len(ids))])


def test_after_an_unlink_nothing_is_pending(in_threads: Callable[..., list[None]]) -> None:
    make_sensor("0xA")
    client = make_client()

    def act(number: int) -> None:
        if number:
            send(["0xA"], 30, number)
            return
        for _ in range(15):
            link(sensor_id="0xA", client_id=client.pk, actor="anna")
            unlink(sensor_id="0xA", client_id=client.pk, actor="anna")

    in_threads(act, 3)
    assert Delivery.objects.exists()
    assert not Delivery.objects.filter(status="pending").exists()


@pytest.mark.slow
def test_after_a_deactivation_nothing_is_pending_and_nobody_is_watched(in_threads: Callable[..., list[None]]) -> None:
    client = make_client()
    for sensor_id in IDS:
        make_sensor(sensor_id)
        link(sensor_id=sensor_id, client_id=client.pk, actor="anna")

    def act(number: int) -> None:
        if number:
            send(IDS, 15, number)
            return
        for turn in range(6):
            set_sensors_active(sensor_ids=IDS[::-1], active=bool(turn % 2), actor="anna")
        set_sensors_active(sensor_ids=IDS, active=False, actor="anna")

    in_threads(act, 3)
    assert not Delivery.objects.filter(status="pending").exists()
    assert not SensorState.objects.filter(check_at__isnull=False).exists()


@pytest.mark.slow
def test_dead_letters_sent_again_never_overtake_what_is_newer(in_threads: Callable[..., list[None]]) -> None:
    client = make_client()
    for sensor_id in IDS:
        make_sensor(sensor_id)
        link(sensor_id=sensor_id, client_id=client.pk, actor="anna")
    send(IDS, 1)
    dead = {"status": "dead", "due_at": None}

    def act(number: int) -> None:
        if number:
            send(IDS, 12, number)
            return
        for _ in range(12):
            Delivery.objects.filter(status="pending", pk__in=Delivery.objects.order_by("pk")[:100].values("pk")).update(
                **dead
            )
            resend_dead_letters(actor="anna")

    in_threads(act, 3)
    pending = list(Delivery.objects.filter(status="pending").values_list("subject", "pk"))
    newest = dict(Delivery.objects.order_by("pk").values_list("subject", "pk"))
    assert pending
    assert all(newest[subject] == pk for subject, pk in pending)


@pytest.mark.slow
def test_everything_at_once_comes_to_an_end(in_threads: Callable[..., list[None]]) -> None:
    client = make_client()
    for sensor_id in IDS:
        make_sensor(sensor_id)
        link(sensor_id=sensor_id, client_id=client.pk, actor="anna")

    def act(number: int) -> None:
        for turn in range(8):
            if number == 0:
                lines = "".join(f"{sensor_id},Street {turn}\n" for sensor_id in IDS[::-1])
                import_sensors(content=f"id,address\n{lines}".encode(), actor="anna")
            elif number == 1:
                deactivate_client(client_id=client.pk, actor="anna")
                update_client(client_id=client.pk, active=True, actor="anna")
            elif number == 2:
                update_sensor(sensor_id=IDS[turn], heartbeat_timeout=60 + turn, actor="anna")
            else:
                send(IDS, 2, number * 100 + turn)

    in_threads(act, 5)
    assert set(Sensor.objects.values_list("address", flat=True)) == {"Street 7"}
