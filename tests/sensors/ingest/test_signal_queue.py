from collections.abc import Iterator

import pika.exceptions
import pytest

from sensors.heartbeat.clock import clock
from sensors.ingest.signal_queue import EXCHANGE, QUEUE, declare_signal_queue, publish_probe
from tests.sensors.amqp import Broker, broker

__all__ = ["broker"]
pytestmark = [pytest.mark.django_db, pytest.mark.broker]


@pytest.fixture
def bare_broker(broker: Broker) -> Iterator[Broker]:
    """A broker that has lost exchange and queue."""
    broker.channel.exchange_delete(EXCHANGE)
    broker.channel.queue_delete(QUEUE)
    yield broker
    declare_signal_queue(broker.channel)


class TestDeclare:
    def test_makes_a_durable_fanout_exchange_with_a_durable_queue(self, bare_broker: Broker) -> None:
        declare_signal_queue(bare_broker.channel)
        bare_broker.send({"sensor_id": "0xA", "data": 1})
        assert bare_broker.waiting() == 1
        with pytest.raises(pika.exceptions.ChannelClosedByBroker):
            bare_broker.channel.connection.channel().queue_declare(QUEUE, durable=False)
        for refused in ({"exchange_type": "fanout", "durable": False}, {"exchange_type": "direct", "durable": True}):
            with pytest.raises(pika.exceptions.ChannelClosedByBroker):
                bare_broker.channel.connection.channel().exchange_declare(EXCHANGE, **refused)

    def test_again_changes_nothing(self, broker: Broker) -> None:
        broker.send({"sensor_id": "0xA", "data": 1})
        declare_signal_queue(broker.channel)
        assert broker.waiting() == 1


class TestPublishers:
    def test_declare_what_is_missing_before_they_publish(self, bare_broker: Broker) -> None:
        publish_probe(clock.look_and_correct())
        assert bare_broker.waiting() == 1
