from collections.abc import Iterator
from typing import Any

import pika
import pytest
from pika.adapters.blocking_connection import BlockingChannel
from pika.exceptions import ChannelClosedByBroker

from config.engines.publisher import NotPublished
from processes.coordination.bus import amqp, open_bus
from processes.coordination.bus.amqp import ENVELOPE, AmqpBus
from processes.coordination.protocol.messages import (
    COORDINATOR,
    WRITER,
    Message,
    MessageType,
    OutgoingMessage,
    decode_messages,
    queue_of_reader,
)
from tests.conftest import ServerAddresses
from tests.faults.wait import wait_until

pytestmark = [pytest.mark.django_db, pytest.mark.broker]
QUEUES = (WRITER, COORDINATOR, queue_of_reader("main"))
WAIT = 5.0
"""How long a message may take; nobody waits so long for one that is there."""


@pytest.fixture
def channel(servers: ServerAddresses, settings: Any) -> Iterator[BlockingChannel]:
    """A line of our own to the broker, whose queues are empty."""
    settings.AMQP_URL = servers.amqp
    parameters = pika.URLParameters(servers.amqp)
    parameters.heartbeat = 0
    connection = pika.BlockingConnection(parameters)
    channel = connection.channel()
    for queue in QUEUES:
        channel.queue_declare(queue, durable=True)
        channel.queue_purge(queue)
    yield channel
    if not channel.is_open:
        channel = connection.channel()
    for queue in QUEUES:
        channel.queue_delete(queue)
    connection.close()
    amqp._publisher.close()


@pytest.fixture
def bus(channel: BlockingChannel) -> Iterator[AmqpBus]:
    bus = AmqpBus()
    yield bus
    bus.close()


def letters(*events: int, queue: str = WRITER) -> list[OutgoingMessage]:
    return [(queue, Message(MessageType.SAVING_BEGINS, event=event)) for event in events]


def waiting(channel: BlockingChannel, queue: str = WRITER) -> int:
    return int(channel.queue_declare(queue, passive=True).method.message_count)


def receive(bus: AmqpBus, queue: str = WRITER) -> amqp._Taken:
    return bus.receive(queue, most=500, wait=WAIT)


def events(taken: amqp._Taken) -> list[int]:
    return [message.event for message in taken.messages]


class TestSend:
    def test_what_is_sent_is_there_when_the_call_returns(self, bus: AmqpBus, channel: BlockingChannel) -> None:
        bus.send([*letters(1, 2), *letters(3, queue=COORDINATOR)])
        assert (waiting(channel), waiting(channel, COORDINATOR)) == (1, 1)

    def test_is_written_to_disk_in_envelopes_of_a_hundred(self, bus: AmqpBus, channel: BlockingChannel) -> None:
        bus.send(letters(*range(ENVELOPE + 1)))
        _, properties, body = channel.basic_get(WRITER, auto_ack=True)
        assert properties.delivery_mode == 2
        assert [message.event for message in decode_messages(body)] == list(range(ENVELOPE))
        assert waiting(channel) == 1

    def test_an_envelope_holds_few_large_messages(
        self, bus: AmqpBus, channel: BlockingChannel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(amqp, "LARGEST", 1000)
        long = [(WRITER, Message(MessageType.EVENT_CANCELED, event=number, reason="x" * 400)) for number in range(5)]
        huge = [(WRITER, Message(MessageType.EVENT_CANCELED, event=5, reason="x" * 4000))]
        bus.send([*long, *huge])
        bodies = [channel.basic_get(WRITER, auto_ack=True)[2] for _ in range(waiting(channel))]
        assert [[message.event for message in decode_messages(body)] for body in bodies] == [[0, 1], [2, 3], [4], [5]]

    def test_what_nobody_takes_is_not_kept_for_ever(
        self, bus: AmqpBus, channel: BlockingChannel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(amqp, "KEPT_MILLISECONDS", 50)
        bus.send(letters(1))
        assert wait_until(lambda: waiting(channel) == 0, WAIT)

    def test_makes_the_queue_that_is_missing(self, bus: AmqpBus, channel: BlockingChannel) -> None:
        channel.queue_delete(WRITER)
        bus.send(letters(1))
        assert waiting(channel) == 1

    def test_raises_when_the_broker_cannot_be_reached(
        self, channel: BlockingChannel, settings: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        channel.queue_delete(WRITER)
        bus = AmqpBus()

        def is_away() -> None:
            raise pika.exceptions.AMQPConnectionError

        monkeypatch.setattr(amqp, "connect", is_away)
        with pytest.raises(NotPublished):
            bus.send(letters(1))


class TestReceive:
    def test_gives_what_was_sent(self, bus: AmqpBus) -> None:
        bus.send(letters(1, 2))
        assert events(receive(bus)) == [1, 2]

    def test_declares_durable_queues(self, channel: BlockingChannel, bus: AmqpBus) -> None:
        for queue in QUEUES:
            channel.queue_delete(queue)
        bus.receive(WRITER, most=1, wait=0)
        for queue in QUEUES:
            with pytest.raises(ChannelClosedByBroker, match="PRECONDITION_FAILED"):
                channel.connection.channel().queue_declare(queue, durable=False)

    def test_does_not_wait_where_there_is_nothing(self, bus: AmqpBus) -> None:
        assert bus.receive(WRITER, most=1, wait=0).messages == []

    def test_what_is_done_never_comes_again(self, bus: AmqpBus, channel: BlockingChannel) -> None:
        bus.send(letters(1))
        receive(bus).done()
        bus.close()
        assert waiting(channel) == 0

    def test_what_is_not_done_comes_again_to_the_next(self, bus: AmqpBus) -> None:
        bus.send(letters(1))
        assert events(receive(bus)) == [1]
        bus.close()  # its process has died
        other = AmqpBus()
        assert events(receive(other)) == [1]
        other.close()

    def test_what_is_given_back_comes_again_here(self, bus: AmqpBus) -> None:
        bus.send(letters(1))
        receive(bus).give_back()
        assert events(receive(bus)) == [1]

    def test_done_does_not_acknowledge_what_came_later(self, bus: AmqpBus, channel: BlockingChannel) -> None:
        bus.send(letters(1))
        first = receive(bus)
        bus.send(letters(2))
        receive(bus)
        first.done()
        bus.close()
        other = AmqpBus()
        assert events(receive(other)) == [2]
        other.close()

    def test_drops_an_envelope_that_cannot_be_read(self, bus: AmqpBus, channel: BlockingChannel) -> None:
        channel.basic_publish("", WRITER, b"{")
        bus.send(letters(1))
        found: list[int] = []
        while not found:
            taken = receive(bus)
            found = events(taken)
            taken.done()
        bus.close()
        assert (found, waiting(channel)) == ([1], 0)

    def test_goes_on_when_its_queue_was_deleted(self, bus: AmqpBus, channel: BlockingChannel) -> None:
        bus.receive(WRITER, most=1, wait=0)
        channel.queue_delete(WRITER)
        bus.send(letters(1))
        taken = [events(receive(bus)) for _ in range(2)]
        assert [1] in taken

    def test_goes_on_when_its_connection_was_lost(self, bus: AmqpBus) -> None:
        bus.receive(WRITER, most=1, wait=0)
        assert bus._connection is not None
        bus._connection.close()
        bus.send(letters(1))
        assert events(receive(bus)) == [1]


class TestOpenBus:
    def test_gives_each_role_a_line_of_its_own(self, channel: BlockingChannel) -> None:
        first, second = open_bus(), open_bus()
        assert isinstance(first, AmqpBus)
        assert first is not second
