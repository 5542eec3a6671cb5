"""Put signals and probes into RabbitMQ: confirmed, or `NotPublished`."""

import threading
import time
from datetime import datetime

import msgspec
import pika.exceptions
from pika.spec import BasicProperties

from config.common.correlation import correlation_id
from config.common.times import format_time
from config.engines.publisher import ChannelClosed, NotPublished, NotRouted, Publisher
from sensors.ingest.signals import Signal, from_milliseconds
from sensors.ingest.topology import EXCHANGE, declare_over_new_connection, probe_properties

DEADLINE = 2.0

_publisher = Publisher()
_declared = threading.Event()


def publish_signals(signals: list[Signal]) -> None:
    """Publish a list of signals as one durable message; raise `NotPublished` when that takes more than two seconds."""
    body = msgspec.json.encode(
        [
            {
                "sensor_id": each.sensor_id,
                "data": each.data,
                "at": format_time(from_milliseconds(each.at)),
                "id": each.id,
            }
            for each in signals
        ]
    )
    properties = BasicProperties(
        content_type="application/json", delivery_mode=2, correlation_id=correlation_id() or None
    )
    _publish(body, properties)


def publish_probe(sent_at: datetime) -> None:
    _publish(sent_at.isoformat().encode("ascii"), probe_properties())


def _publish(body: bytes, properties: BasicProperties) -> None:
    """Publish within the deadline; where exchange or queue has gone from the broker, declare them and try once more."""
    until = time.monotonic() + DEADLINE
    _declare_once()
    try:
        _send(body, properties, until)
    except (NotRouted, ChannelClosed):
        _declared.clear()
        _declare_once()
        _send(body, properties, until)


def _send(body: bytes, properties: BasicProperties, until: float) -> None:
    left = max(0.01, until - time.monotonic())
    _publisher.publish(body, exchange=EXCHANGE, routing_key="", properties=properties, deadline=left)


def _declare_once() -> None:
    if _declared.is_set():
        return
    try:
        declare_over_new_connection()
    except (pika.exceptions.AMQPError, OSError) as error:
        raise NotPublished(f"RabbitMQ cannot be reached: {error!r}") from error
    _declared.set()
