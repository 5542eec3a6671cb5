"""Sensors and clients for the tests."""

from typing import Any

from django.utils import timezone

from config.common.encryption import encrypt
from notifications.models import Delivery, Endpoint
from sensors.heartbeat.ingest_liveness import record_liveness
from sensors.models import Client, Sensor, SensorClient, SensorState


def make_sensor(id: str = "0xA", **fields: Any) -> Sensor:
    sensor = Sensor.objects.create(id=id, address=fields.pop("address", "1 Gate Street"), **fields)
    SensorState.objects.create(sensor=sensor)
    return sensor


def make_client(name: str = "watch", **fields: Any) -> Client:
    endpoint = Endpoint.objects.create(url=f"https://{name}.example/hook", secret=encrypt(b"secret"))
    return Client.objects.create(name=name, endpoint=endpoint, **fields)


def link(sensor_id: str, client: Client) -> None:
    SensorClient.objects.create(sensor_id=sensor_id, client=client)


def make_delivery(sensor_id: str, client: Client, **fields: Any) -> Delivery:
    """Owe a client a message about a sensor."""
    values = {"type": "sensor.state_changed", "family": "state", "body": {}, "due_at": timezone.now(), **fields}
    return Delivery.objects.create(endpoint=client.endpoint, subject=f"sensor/{sensor_id}", **values)


def hear() -> None:
    """Let our own side hear, so that a quiet sensor is known to be quiet."""
    record_liveness(timezone.now())
