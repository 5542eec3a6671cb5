"""Sensors and clients for the tests."""

from typing import Any

from config.common.encryption import encrypt
from notifications.models import Endpoint
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
