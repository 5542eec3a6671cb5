"""The bodies of the messages, to the letter of the contract."""

from datetime import datetime
from typing import Any

import pytest
from django.utils import timezone

from config.common.times import format_time, to_milliseconds
from notifications.models import Delivery
from sensors.events import ConnectionLost, ConnectionRestored, LeftOpen, LossWithdrawn, SensorEvent, StateChanged
from sensors.models import SensorClient
from sensors.services.publish import publish_sensor_events
from tests.sensors.registry import link, make_client, make_sensor

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

NOON = to_milliseconds(datetime.fromisoformat("2026-05-01T12:00:00Z"))
AT, BEFORE = "2026-05-01T12:00:00.000Z", "2026-05-01T11:00:00.000Z"
HOUR = 3_600_000
NAMED = {"version": 1, "sensor_id": "0xA", "address": "1 Gate Street"}


@pytest.mark.parametrize(
    ("happening", "words"),
    [
        (
            StateChanged("0xA", NOON, "id", 1, 0),
            {"type": "sensor.state_changed", "data": 1, "previous": 0, "at": AT},
        ),
        (
            StateChanged("0xA", NOON, "id", 0, None),
            {"type": "sensor.state_changed", "data": 0, "previous": None, "at": AT},
        ),
        (
            ConnectionLost("0xA", NOON, NOON - HOUR),
            {"type": "sensor.connection_lost", "last_seen_at": BEFORE, "at": AT},
        ),
        (
            ConnectionRestored("0xA", NOON, 1, NOON - HOUR, 5400),
            {"type": "sensor.connection_restored", "data": 1, "lost_at": BEFORE, "downtime_seconds": 5400, "at": AT},
        ),
        (
            LossWithdrawn("0xA", NOON, NOON - HOUR),
            {"type": "sensor.loss_withdrawn", "lost_at": BEFORE, "at": AT},
        ),
        (
            LeftOpen("0xA", NOON, NOON - HOUR, 3600),
            {"type": "sensor.left_open", "data": 1, "opened_at": BEFORE, "limit_seconds": 3600, "at": AT},
        ),
    ],
)
def test_a_message_about_one_sensor(happening: SensorEvent, words: dict[str, Any]) -> None:
    make_sensor()
    link("0xA", make_client())
    publish_sensor_events([happening], now=timezone.now())
    assert Delivery.objects.get().body == NAMED | words


@pytest.mark.parametrize(
    ("kind", "happenings", "words"),
    [
        (
            "sensor.connections_lost",
            [ConnectionLost(f"s{n}", NOON, NOON - HOUR) for n in range(5)],
            {"last_seen_at": BEFORE},
        ),
        (
            "sensor.connections_restored",
            [ConnectionRestored(f"s{n}", NOON, 1, NOON - HOUR, 3600) for n in range(5)],
            {"data": 1, "lost_at": BEFORE, "downtime_seconds": 3600},
        ),
    ],
)
def test_a_message_about_many_sensors(kind: str, happenings: list[SensorEvent], words: dict[str, Any]) -> None:
    client, now = make_client(), timezone.now()
    for n in range(5):
        make_sensor(f"s{n}")
        link(f"s{n}", client)
    publish_sensor_events(happenings, now=now)
    assert Delivery.objects.get().body == {
        "version": 1,
        "type": kind,
        "at": format_time(now),
        "sensors": [{"sensor_id": f"s{n}", "address": "1 Gate Street", **words} for n in range(5)],
    }


def test_a_door_left_open_says_nothing_of_a_loss() -> None:
    make_sensor()
    link("0xA", make_client())
    SensorClient.objects.update(is_loss_untold=True)
    publish_sensor_events([LeftOpen("0xA", NOON, NOON - HOUR, 3600)], now=timezone.now())
    assert SensorClient.objects.get().is_loss_untold, "the end of the loss is still not to be told"
