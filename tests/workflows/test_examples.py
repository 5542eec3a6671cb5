"""The processes that ship with the product, moved by its own events."""

import pytest
from django.utils import timezone

from notifications.models import Alert
from notifications.services.events import Fact, record_event
from processes.workflows.examples import publish_examples
from processes.workflows.models import WorkflowInstance
from processes.workflows.services.effects import leave_once
from processes.workflows.services.heads import Head, read_head
from tests.workflows.store.scene import Scene
from tests.workflows.store.test_events import follow

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]


@pytest.fixture
def scene() -> Scene:
    for _ in range(2):
        publish_examples(actor="tester", at=timezone.now())
    return Scene()


def tell(type: str, subject: str, **payload: str) -> None:
    record_event(Fact(type, subject, timezone.now(), payload))
    follow()


def begun() -> Head:
    return read_head(WorkflowInstance.objects.get().pk)


class TestLostSensor:
    def lose(self) -> Head:
        tell("sensor.connection_lost", "sensor/0xA", sensor_id="0xA")
        return begun()

    def test_waits_an_hour_then_tells_and_asks(self, scene: Scene) -> None:
        head = self.lose()
        assert (head.record, scene.waits_at(head)) == ("sensor/0xA", ["an_hour"])
        scene.pass_time(head, seconds=1)
        assert "find_out" in scene.waits_at(head)
        leave_once()
        assert "0xA" in str(Alert.objects.get().detail)

    def test_tells_again_when_nobody_finds_out(self, scene: Scene) -> None:
        head = self.lose()
        for _ in range(2):
            scene.pass_time(head, seconds=1)
            leave_once()
        assert scene.head(head).status == "active"
        assert "find_out" in scene.waits_at(head)
        assert Alert.objects.filter(kind__startswith="workflow").count() >= 1

    @pytest.mark.parametrize("type", ["sensor.connection_restored", "sensor.loss_withdrawn"])
    @pytest.mark.parametrize("hours", [0, 1])
    def test_ends_by_itself_when_the_sensor_is_heard(self, scene: Scene, type: str, hours: int) -> None:
        head = self.lose()
        for _ in range(hours):
            scene.pass_time(head, seconds=1)
        tell(type, "sensor/0xB", sensor_id="0xB")
        assert scene.head(head).status == "active"
        tell(type, "sensor/0xA", sensor_id="0xA")
        assert scene.head(head).status == "completed"

    def test_ends_when_somebody_has_found_out(self, scene: Scene) -> None:
        head = self.lose()
        scene.pass_time(head, seconds=1)
        assert scene.complete(head, "find_out", cause="no power").status == "completed"


class TestExchangeInDoubt:
    def doubt(self) -> Head:
        tell("exchange.in_doubt", "exchange/1", database="erp")
        return begun()

    def test_asks_somebody_and_tells_after_half_an_hour(self, scene: Scene) -> None:
        head = self.doubt()
        scene.pass_time(head, seconds=1)
        leave_once()
        assert "look" in scene.waits_at(head)
        assert "erp" in str(Alert.objects.get().detail)

    @pytest.mark.parametrize("type", ["exchange.done", "exchange.failed"])
    def test_ends_by_itself_when_it_is_decided(self, scene: Scene, type: str) -> None:
        head = self.doubt()
        tell(type, "exchange/1", database="erp")
        assert scene.head(head).status == "completed"
