import time
import uuid
from collections.abc import Iterator
from typing import Any

import pika
import pytest

from config.engines import amqp
from config.engines.publisher import NotPublished, NotRouted, Publisher
from tests.conftest import ServerAddresses
from tests.faults.silent_servers import Proxy, SilentServer
from tests.faults.wait import wait_until
from tests.servers.private_server import find_free_port


@pytest.fixture
def publisher(servers: ServerAddresses, settings: Any) -> Iterator[Publisher]:
    settings.AMQP_URL = servers.amqp
    own = Publisher()
    yield own
    own.close()


@pytest.fixture
def queue(publisher: Publisher) -> Iterator[str]:
    own = amqp.connect()
    name = f"test.{uuid.uuid4().hex}"
    own.channel().queue_declare(name)
    yield name
    own.channel().queue_delete(name)
    own.close()


def count(queue: str) -> int:
    own = amqp.connect()
    waiting: int = own.channel().queue_declare(queue, passive=True).method.message_count
    own.close()
    return waiting


def publish(publisher: Publisher, queue: str, body: bytes = b"x", deadline: float = 5.0) -> None:
    publisher.publish(body, exchange="", routing_key=queue, deadline=deadline)


class TestPublish:
    def test_returns_when_the_broker_has_the_message(self, publisher: Publisher, queue: str) -> None:
        properties = pika.BasicProperties(message_id="m1", delivery_mode=2)
        publisher.publish(b"hello", exchange="", routing_key=queue, properties=properties)
        own = amqp.connect()
        _, received, body = own.channel().basic_get(queue, auto_ack=True)
        own.close()
        assert (received.message_id, body) == ("m1", b"hello")

    def test_a_message_for_no_queue_is_not_published(self, publisher: Publisher, queue: str) -> None:
        with pytest.raises(NotRouted, match=r"No queue is bound for test\.nowhere"):
            publish(publisher, "test.nowhere")
        publish(publisher, queue)
        assert count(queue) == 1

    def test_an_exchange_that_is_not_there_fails_this_message_alone(self, publisher: Publisher, queue: str) -> None:
        with pytest.raises(NotPublished, match="closed the channel"):
            publisher.publish(b"x", exchange="test.no-such-exchange", routing_key="x")
        publish(publisher, queue)
        assert count(queue) == 1

    def test_threads_share_the_connection_and_lose_nothing(
        self, publisher: Publisher, queue: str, in_threads: Any
    ) -> None:
        def publish_some(number: int) -> None:
            for _ in range(50):
                publish(publisher, queue)

        in_threads(publish_some, 8)
        assert count(queue) == 400

    def test_returned_messages_among_others_fail_only_their_own_callers(
        self, publisher: Publisher, queue: str, in_threads: Any
    ) -> None:
        def publish_one(number: int) -> bool:
            try:
                publish(publisher, queue if number % 2 else "test.nowhere", b"same")
            except NotRouted:
                return False
            return True

        assert in_threads(publish_one, 16) == [bool(number % 2) for number in range(16)]

    def test_fails_at_once_while_the_broker_cannot_be_reached(self, publisher: Publisher, settings: Any) -> None:
        settings.AMQP_URL = f"amqp://guest:guest@127.0.0.1:{find_free_port()}/%2F"
        with pytest.raises(NotPublished, match="cannot be reached"):
            publish(publisher, "q", deadline=5)
        began = time.monotonic()
        with pytest.raises(NotPublished, match="cannot be reached"):
            publish(publisher, "q", deadline=5)
        assert time.monotonic() - began < 4

    def test_keeps_its_deadline_with_a_mute_broker(self, publisher: Publisher, settings: Any) -> None:
        with SilentServer() as mute:
            settings.AMQP_URL = f"amqp://guest:guest@127.0.0.1:{mute.port}/%2F"
            began = time.monotonic()
            with pytest.raises(NotPublished, match=r"not confirmed within 0\.3 s"):
                publish(publisher, "q", deadline=0.3)
            assert time.monotonic() - began < 8

    def test_keeps_its_deadline_when_the_broker_falls_silent_and_goes_on_with_another_connection(
        self, servers: ServerAddresses, settings: Any, publisher: Publisher, queue: str
    ) -> None:
        port = pika.URLParameters(servers.amqp).port
        with Proxy(port) as proxy:
            settings.AMQP_URL = servers.amqp.replace(f":{port}/", f":{proxy.port}/")
            publish(publisher, queue)
            proxy.fall_silent()
            with pytest.raises(NotPublished, match=r"not confirmed within 0\.3 s"):
                publish(publisher, queue, deadline=0.3)
            settings.AMQP_URL = servers.amqp
        assert wait_until(lambda: self.succeeds(publisher, queue))
        assert count(queue) == 2

    def succeeds(self, publisher: Publisher, queue: str) -> bool:
        try:
            publish(publisher, queue, deadline=1)
        except NotPublished:
            return False
        return True
