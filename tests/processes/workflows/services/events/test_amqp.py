import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from django.db.models.functions import Now
from django.utils import timezone
from pika.adapters.blocking_connection import BlockingChannel
from pika.spec import BasicProperties

from config.common.database import leases
from config.engines import publisher
from config.engines.amqp import connect
from notifications.errors import FollowerWaits
from notifications.models import Event, Follower
from notifications.services import relay
from notifications.services.relay import relay_once
from notifications.services.sequencer import stamp_once
from processes.workflows.services.events import amqp
from processes.workflows.services.events.amqp import EventConsumer
from tests.conftest import ServerAddresses
from tests.processes.workflows.process_files import chain, service
from tests.processes.workflows.scene import Scene

pytestmark = [pytest.mark.django_db, pytest.mark.broker]


@pytest.fixture
def channel(servers: ServerAddresses, settings: Any) -> Iterator[BlockingChannel]:
    settings.AMQP_URL = servers.amqp
    amqp._declared.clear()
    connection = connect()
    channel = connection.channel()
    amqp.declare_topology(channel)
    channel.queue_purge(amqp.QUEUE)
    yield channel
    connection.close()
    amqp._declared.clear()


@pytest.fixture
def told(scene: Scene) -> Event:
    """What an instance has told."""
    scene.begin(chain("p", service("s", "event", type="'shipped'", payload="order")), record="r", order=5)
    return Event.objects.get(type="custom.shipped")


class TestEventConsumer:
    def test_takes_what_lies_in_the_queue_once(self, channel: BlockingChannel) -> None:
        for _ in range(2):
            body = json.dumps({"type": "custom.x", "payload": {"a": 1}}).encode()
            channel.basic_publish(amqp.IN_EXCHANGE, "any.key", body, BasicProperties(message_id="m1"))
        consumer = EventConsumer()
        assert not consumer.consume_once()
        consumer.close()
        assert Event.objects.get().payload["payload"] == {"a": 1}
        assert channel.basic_get(amqp.QUEUE)[0] is None

    def test_gives_back_what_the_database_could_not_take(
        self, channel: BlockingChannel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from django.db import OperationalError

        def fails(**_: Any) -> None:
            raise OperationalError

        monkeypatch.setattr(amqp, "receive_event", fails)
        channel.basic_publish(amqp.IN_EXCHANGE, "k", b'{"type": "custom.x"}', BasicProperties(message_id="m1"))
        taking = EventConsumer()
        with pytest.raises(OperationalError):
            taking.consume_once()
        taking.close()
        channel.connection.sleep(0.05)
        assert channel.basic_get(amqp.QUEUE, auto_ack=True)[2] == b'{"type": "custom.x"}'


class TestPublishEvents:
    def test_publishes_under_an_id_that_stays(self, channel: BlockingChannel, told: Event) -> None:
        queue = channel.queue_declare("", exclusive=True).method.queue
        channel.queue_bind(queue, amqp.OUT_EXCHANGE, routing_key="custom.shipped")
        amqp.publish_events([told, told])
        messages = [channel.basic_get(queue, auto_ack=True) for _ in range(2)]
        ids = {properties.message_id for _, properties, _ in messages}
        assert ids == {told.payload["message_id"]}
        assert UUID(ids.pop()).version == 7
        assert json.loads(messages[0][2])["payload"] == 5

    def test_a_type_of_more_bytes_than_a_routing_key_has_is_published(
        self, channel: BlockingChannel, told: Event
    ) -> None:
        """A type has at most 80 characters; those of some writings have four bytes each."""
        queue = channel.queue_declare("", exclusive=True).method.queue
        channel.queue_bind(queue, amqp.OUT_EXCHANGE, routing_key="#")
        told.type = "custom." + "🚪" * 73
        amqp.publish_events([told])
        method, _, body = channel.basic_get(queue, auto_ack=True)
        assert method.routing_key == "custom." + "🚪" * 62
        assert json.loads(body)["type"] == told.type

    def test_what_nobody_listens_to_is_no_failure(self, channel: BlockingChannel, told: Event) -> None:
        amqp.publish_events([told])
        queue = channel.queue_declare("", exclusive=True).method.queue
        channel.queue_bind(queue, amqp.OUT_EXCHANGE, routing_key="#")
        amqp.publish_events([told])
        heard = [channel.basic_get(queue, auto_ack=True)[0] for _ in range(2)]
        assert [method is not None for method in heard] == [True, False]

    def test_events_from_outside_are_not_sent_back(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(amqp, "_publish", lambda event: pytest.fail("published"))
        amqp.publish_events([Event(type="custom.x", payload={"record": "", "payload": {}}, at=timezone.now())])

    def test_waits_while_the_broker_is_away(self, told: Event, settings: Any) -> None:
        settings.AMQP_URL = "amqp://127.0.0.1:1/"
        amqp._declared.clear()
        with pytest.raises(FollowerWaits):
            amqp.publish_events([told])


class TestLateRelay:
    """One that was stopped after its claim, and goes on when another has taken its place."""

    def shipped(self, scene: Scene, number: int) -> None:
        source = chain(f"p{number}", service("s", "event", type="'shipped'", payload="number"))
        scene.begin(source, number=number)
        while stamp_once():
            pass

    def test_publishes_nothing_behind_what_the_other_has_published(
        self, channel: BlockingChannel, scene: Scene, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        queue = channel.queue_declare("", exclusive=True).method.queue
        channel.queue_bind(queue, amqp.OUT_EXCHANGE, routing_key="custom.shipped")
        self.shipped(scene, 1)
        publish, stopped = amqp._publish, False

        def stop_then_publish(event: Event) -> None:
            """Let time pass in which another relay publishes this event and the next one."""
            nonlocal stopped
            if not stopped:
                stopped = True
                Follower.objects.filter(name=amqp.OUT_EXCHANGE).update(due_at=Now())
                self.shipped(scene, 2)
                assert not relay_once(amqp.PUBLISHER)
                clock = leases.lease_clock
                monkeypatch.setattr(publisher, "lease_clock", lambda: clock() + relay.LEASE.total_seconds())
            publish(event)

        monkeypatch.setattr(amqp, "_publish", stop_then_publish)
        assert not relay_once(amqp.PUBLISHER)
        assert [json.loads(body)["payload"] for body in self.published(channel, queue)] == [1, 2]

    def published(self, channel: BlockingChannel, queue: str) -> Iterator[bytes]:
        while (found := channel.basic_get(queue, auto_ack=True))[0] is not None:
            yield found[2]

    def test_a_batch_confirmed_as_late_as_can_be_stays_within_the_lease(self) -> None:
        assert relay.LEASE.total_seconds() > amqp.PUBLISH_BATCH * amqp.PUBLISH_SECONDS
