"""The processes and cases that ship with the product, moved by its own events."""

import pytest
from django.utils import timezone

from notifications.models import Alert
from notifications.services.events import NewEvent, record_event
from processes.workflows.diagrams import respond_with_diagram
from processes.workflows.examples import publish_examples
from processes.workflows.heads import Head, get_head
from processes.workflows.models import WorkflowInstance, WorkflowRevision
from processes.workflows.presentation import present_instance
from processes.workflows.services.definitions.library import get_compiled
from processes.workflows.services.effects.dispatch import dispatch_due_effects
from tests.processes.workflows.scene import Scene
from tests.processes.workflows.services.events.follower.test_follower import follow

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]


@pytest.fixture
def scene() -> Scene:
    for _ in range(2):
        publish_examples(actor="tester", at=timezone.now())
    return Scene()


def tell(type: str, subject: str, **payload: str) -> None:
    record_event(NewEvent(type, subject, timezone.now(), payload))
    follow()


def begun() -> Head:
    return get_head(WorkflowInstance.objects.get().pk)


class TestLostSensor:
    def lose(self) -> Head:
        tell("sensor.connection_lost", "sensor/0xA", sensor_id="0xA")
        return begun()

    def test_waits_an_hour_then_tells_and_asks(self, scene: Scene) -> None:
        head = self.lose()
        assert (head.record, scene.waits_at(head)) == ("sensor/0xA", ["an_hour"])
        scene.pass_time(head, seconds=1)
        assert "find_out" in scene.waits_at(head)
        dispatch_due_effects()
        assert "0xA" in str(Alert.objects.get().detail)

    def test_tells_again_when_nobody_finds_out(self, scene: Scene) -> None:
        head = self.lose()
        for _ in range(2):
            scene.pass_time(head, seconds=1)
            dispatch_due_effects()
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
        dispatch_due_effects()
        assert "look" in scene.waits_at(head)
        assert "erp" in str(Alert.objects.get().detail)

    @pytest.mark.parametrize("type", ["exchange.done", "exchange.failed"])
    def test_ends_by_itself_when_it_is_decided(self, scene: Scene, type: str) -> None:
        head = self.doubt()
        tell(type, "exchange/1", database="erp")
        assert scene.head(head).status == "completed"


class TestSensorInstallation:
    def begin(self, scene: Scene) -> Head:
        return scene.start("sensor-installation", record="client/7")

    def give(self, scene: Scene, head: Head, command: str, element: str) -> Head:
        [item] = [each["id"] for each in present_instance(head)["items"] if each["element"] == element]
        return scene.command(head, command, item=item)

    def states(self, head: Head) -> dict[str, str]:
        return {each["element"]: each["state"] for each in present_instance(head)["items"]}

    def test_is_surveyed_mounted_checked_and_handed_over(self, scene: Scene) -> None:
        head = scene.complete(self.begin(scene), "survey", doors=3)
        head = scene.complete(head, "mount", sensor_id="0xA")
        head = scene.complete(head, "check", signal="good")
        states = self.states(head)
        assert (states["installation"], states["photograph"], states["installed"]) == (
            "completed",
            "terminated",
            "completed",
        )
        head = scene.complete(head, "hand_over", accepted_by="Olga")
        assert (head.status, self.states(head)["visit"]) == ("completed", "terminated")

    def test_where_the_signal_is_weak_the_sensor_is_moved_first(self, scene: Scene) -> None:
        head = scene.complete(self.begin(scene), "survey", doors=1)
        head = scene.complete(scene.complete(head, "mount", sensor_id="0xA"), "check", signal="weak")
        assert self.states(head)["installation"] == "active"
        assert self.states(scene.complete(head, "move"))["hand_over"] == "active"

    def test_staff_visit_the_client_as_often_as_they_need(self, scene: Scene) -> None:
        head = self.begin(scene)
        for _ in range(2):
            head = scene.complete(self.give(scene, head, "start", "visit"), "visit")
            assert self.states(head)["visit"] == "enabled"

    def test_a_week_after_the_survey_somebody_is_asked(self, scene: Scene) -> None:
        head = scene.complete(self.begin(scene), "survey", doors=1)
        scene.pass_time(head, seconds=1)
        assert self.states(scene.head(head))["press_on"] == "active"

    def test_ends_when_the_client_cancels(self, scene: Scene) -> None:
        assert self.give(scene, self.begin(scene), "occur", "cancelled").status == "terminated"

    def test_every_item_is_drawn(self, scene: Scene) -> None:
        answer = respond_with_diagram(WorkflowRevision.objects.get(definition="sensor-installation"))
        assert answer is not None
        picture = answer.content.decode()
        nodes = get_compiled("sensor-installation", 1).nodes
        assert [each for each in nodes if f'data-element="{each}"' not in picture] == []
