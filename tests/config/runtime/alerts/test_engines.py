from datetime import timedelta

import pytest
from django.db.models import F

from config.runtime.alerts.engines import EngineOutages
from notifications.models import Alert
from tests.notifications.alerts import escalate, list_messages, reach_everybody, two_rungs

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


class Node:
    """A process that looks at engines; the test decides what it sees and what time it is."""

    def __init__(self) -> None:
        self.states = {"database": "ok", "amqp": "ok", "redis": "ok", "clickhouse": "off"}
        self.time = 0.0
        self.outages = EngineOutages(lambda: self.states, lambda: self.time)

    def look_for(self, seconds: int) -> None:
        for _ in range(seconds // 5):
            self.time += 5
            assert self.outages.run_once() is False


@pytest.fixture
def node() -> Node:
    return Node()


class TestLookOnce:
    def test_half_a_minute_down_is_an_alert_and_the_return_closes_it(self, node: Node) -> None:
        two_rungs()
        node.states["amqp"] = "down"
        node.look_for(30)
        assert not Alert.objects.exists()
        node.look_for(10)
        alert = Alert.objects.get()
        assert (alert.subject, alert.words) == ("engine/amqp", "RabbitMQ has not responded for half a minute")
        escalate()
        reach_everybody()
        node.states["amqp"] = "ok"
        node.look_for(5)
        alert.refresh_from_db()
        assert (alert.status, alert.resolution) == ("resolved", "it responds again")
        assert [type for type, _ in list_messages()] == ["alert.raised", "alert.closed"]

    def test_a_blink_is_no_alert(self, node: Node) -> None:
        for state in ("down", "ok", "down", "ok"):
            node.states["redis"] = state
            node.look_for(25)
        assert not Alert.objects.exists()

    def test_a_long_outage_is_one_alert_that_is_repeated_once_a_minute(self, node: Node) -> None:
        node.states["redis"] = "down"
        node.look_for(35 + 180)
        assert Alert.objects.get().count == 4

    def test_the_database_is_told_of_elsewhere(self, node: Node) -> None:
        node.states["database"] = "down"
        node.look_for(60)
        assert not Alert.objects.exists()

    def test_a_node_that_sees_no_outage_does_not_close_what_another_one_sees(self, node: Node) -> None:
        node.states["redis"] = "down"
        node.look_for(40)
        other = Node()
        other.look_for(60)
        assert Alert.objects.get().status == "open"

    def test_what_nobody_repeats_any_more_is_closed_by_anyone(self, node: Node) -> None:
        node.states["redis"] = "down"
        node.look_for(40)
        Alert.objects.update(last_at=F("last_at") - timedelta(minutes=4))
        Node().look_for(5)
        assert Alert.objects.get().status == "resolved"

    def test_a_node_that_starts_during_the_outage_closes_it_at_once_too(self, node: Node) -> None:
        node.states["redis"] = "down"
        node.look_for(40)
        heir = Node()
        heir.states["redis"] = "down"
        heir.look_for(40)
        heir.states["redis"] = "ok"
        heir.look_for(5)
        alert = Alert.objects.get()
        assert (alert.status, alert.count) == ("resolved", 2)
