import pytest

from notifications.models import Event
from processes.workflows.models import WorkflowEffect, WorkItem
from tests.processes.workflows.process_files import chain, service, signal, signalled, user
from tests.processes.workflows.scene import Scene

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]


class TestThrownEvents:
    def test_an_event_is_in_the_outbox_with_the_version(self, scene: Scene) -> None:
        head = scene.begin(
            chain("p", service("s", "event", type='"order.placed"', payload="order")), record="r", order=5
        )
        event = Event.objects.get()
        assert (event.type, event.subject) == ("custom.order.placed", f"workflow/{head.id}")
        assert (event.payload["record"], event.payload["payload"]) == ("r", 5)
        assert WorkflowEffect.objects.get().status == "left"

    def test_a_signal_is_about_nothing_and_names_its_instance(self, scene: Scene) -> None:
        head = scene.begin(chain("p", signal("s", throws=True), before=signalled("alarm")), record="r")
        event = Event.objects.get()
        assert (event.type, event.payload["record"], event.payload["instance"]) == ("custom.alarm", "", str(head.id))

    def test_a_type_that_is_too_long_is_an_incident(self, scene: Scene) -> None:
        head = scene.begin(chain("p", service("s", "event", type="name")), name="x" * 90)
        assert head.status == "incident"
        assert not Event.objects.filter(type__startswith="custom.").exists()


class TestSearchOfTasks:
    def test_has_names_record_definition_and_short_variables(self, scene: Scene) -> None:
        scene.begin(chain("order", user("check")), record="A-7", customer="Acme", paid=True, lines=[1], text="x" * 101)
        assert WorkItem.objects.get().search.split("\n") == [
            "Check",
            "check",
            "A-7",
            "order",
            "customer=Acme",
            "paid=True",
        ]

    def test_is_cut(self, scene: Scene) -> None:
        scene.begin(chain("order", user("check")), **{f"v{number}": "x" * 90 for number in range(20)})
        assert len(WorkItem.objects.get().search) == 1000
