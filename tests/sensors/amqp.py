"""The broker's side of the sensors, for the tests."""

import json
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pika
import pytest
from pika.adapters.blocking_connection import BlockingChannel
from pika.spec import BasicProperties

from sensors.history.queue import QUEUE as HISTORY
from sensors.history.queue import declare_history_queue, decode_batch
from sensors.ingest.consumer import Consumer
from sensors.ingest.signal_queue import EXCHANGE, QUEUE, declare_signal_queue
from sensors.ingest.signals import Signal


class Broker:
    def __init__(self, channel: BlockingChannel) -> None:
        self.channel = channel

    def send(self, body: Any, **properties: Any) -> None:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.channel.basic_publish(EXCHANGE, "", raw, BasicProperties(**properties), mandatory=True)

    def send_all(self, bodies: Iterable[Any], **properties: Any) -> int:
        """Send without a confirmation for each, and wait once; return how many signals there are."""
        channel, sent = self.channel.connection.channel(), 0
        for body in bodies:
            channel.basic_publish(EXCHANGE, "", json.dumps(body).encode(), BasicProperties(**properties))
            sent += len(body) if isinstance(body, list) else 1
        channel.close()
        return sent

    def waiting(self, queue: str = QUEUE) -> int:
        return int(self.channel.queue_declare(queue, passive=True).method.message_count)

    def listeners(self, queue: str = QUEUE) -> int:
        return int(self.channel.queue_declare(queue, passive=True).method.consumer_count)

    def history(self) -> list[Signal]:
        """Take everything that was passed on to history."""
        signals: list[Signal] = []
        while True:
            method, _, body = self.channel.basic_get(HISTORY, auto_ack=True)
            if method is None:
                return signals
            signals += decode_batch(body)


@pytest.fixture
def broker(settings: Any, servers: Any) -> Iterator[Broker]:
    """The real broker with empty queues of signals."""
    settings.AMQP_URL = servers.amqp
    with connected(servers.amqp) as channel:
        channel.confirm_delivery()
        yield Broker(channel)


@contextmanager
def connected(url: str) -> Iterator[BlockingChannel]:
    """A channel with empty queues of signals; whoever has it takes their time, and nobody tends it."""
    parameters = pika.URLParameters(url)
    parameters.heartbeat = 0
    connection = pika.BlockingConnection(parameters)
    channel = connection.channel()
    declare_signal_queue(channel)
    declare_history_queue(channel)
    channel.queue_purge(QUEUE)
    channel.queue_purge(HISTORY)
    yield channel
    connection.close()


def consume(until: Callable[[], bool], *, name: str = "test", seconds: float = 20) -> None:
    """Run a consumer here until the condition holds."""
    end = time.monotonic() + seconds
    reached: list[bool] = []

    def should_stop() -> bool:
        if not reached and until():
            reached.append(True)
        return bool(reached) or time.monotonic() > end

    Consumer(name, should_stop=should_stop).run()
    assert reached, "the consumer did not get there"
