"""Where simulated signals go: to RabbitMQ, or to a server's REST API."""

import json
import urllib.request
from types import TracebackType
from typing import Protocol, Self

from pika.spec import BasicProperties

from config.engines.amqp import connect
from sensors.ingest.signal_queue import EXCHANGE, declare_signal_queue
from sensors.simulation.fleet import Message


class Sender(Protocol):
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
    def send(self, messages: list[Message]) -> None: ...


class AmqpSender:
    """One confirmed message for each signal, as sensors send them."""

    def __enter__(self) -> Self:
        self._connection = connect()
        self._channel = self._connection.channel()
        declare_signal_queue(self._channel)
        self._channel.confirm_delivery()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def send(self, messages: list[Message]) -> None:
        for message in messages:
            properties = BasicProperties(delivery_mode=2, content_type="application/json")
            self._channel.basic_publish(EXCHANGE, "", json.dumps(message).encode(), properties, mandatory=True)


class RestSender:
    """Lists of up to a thousand signals to `POST /api/v1/signals/`."""

    def __init__(self, url: str, key: str) -> None:
        self._address = f"{url.rstrip('/')}/api/v1/signals/"
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def send(self, messages: list[Message]) -> None:
        for start in range(0, len(messages), 1000):
            body = json.dumps(messages[start : start + 1000]).encode()
            call = urllib.request.Request(self._address, body, self._headers)  # noqa: S310  (the operator's own URL)
            with urllib.request.urlopen(call, timeout=30) as answer:  # noqa: S310
                answer.read()
