from typing import Any

import pytest

from notifications.errors import DecisionNeeded
from notifications.models import Alert
from notifications.services.alerts import resolve_alert
from processes.workflows import errors
from processes.workflows.heads import Head
from processes.workflows.models import WorkflowIncident, WorkflowInstance, WorkflowTimer
from processes.workflows.services import commands
from processes.workflows.services.incidents import open_incident
from tests.processes.workflows.process_files import chain, flow, process, script, timer, user
from tests.processes.workflows.scene import Scene
from tests.staff import signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

DIVIDES = chain("p", user("a"), script("s", "y", "10 / x"), user("b"))
BOTH = process(
    "p",
    '<startEvent id="begin"/><parallelGateway id="fork"/><endEvent id="end"/>',
    user("a")[1],
    script("s", "y", "10 / x")[1],
    user("b")[1],
    *(
        flow(*pair)
        for pair in (("begin", "fork"), ("fork", "a"), ("fork", "b"), ("a", "s"), ("s", "end"), ("b", "end"))
    ),
)


class TestOpenIncident:
    def test_a_command_that_fails_leaves_nothing_but_an_incident(self, scene: Scene) -> None:
        head = scene.begin(DIVIDES, x=0)
        after = scene.complete(head, note="lost")
        assert (after.status, after.number, scene.waits_at(head)) == ("incident", 1, ["a"])
        incident = WorkflowIncident.objects.get()
        assert (incident.element, incident.command["command"], incident.status) == ("s", "complete_task", "open")

    def test_tells_staff(self, scene: Scene) -> None:
        head = scene.complete(scene.begin(DIVIDES, x=0, record="r1"))
        alert = Alert.objects.get()
        assert (alert.kind, alert.subject) == ("workflow.incident", f"workflow/{head.id}")

    def test_names_things_as_people_know_them(self, scene: Scene) -> None:
        named = DIVIDES.replace(b'<scriptTask id="s"', b'<scriptTask id="s" name="Share it out"')
        scene.complete(scene.begin(named.replace(b'name="p"', b'name="Sharing"'), x=0, record="r1"))
        detail = Alert.objects.get().detail
        assert (detail["definition"], detail["element"]) == ("Sharing", "Share it out")

    def test_the_start_page_shows_it(self, scene: Scene) -> None:
        scene.complete(scene.begin(DIVIDES, x=0))
        page = signed_in("administrator").get("/admin/").content.decode()
        assert f"/admin/workflows/workflowinstance/{WorkflowInstance.objects.get().pk}/change/" in page
        assert "every event has been processed" not in page

    def test_the_alert_is_closed_by_who_settles_it_alone(self, scene: Scene) -> None:
        scene.complete(scene.begin(DIVIDES, x=0))
        with pytest.raises(DecisionNeeded):
            resolve_alert(Alert.objects.get().pk, "staff:olga")

    def test_one_that_was_overtaken_is_tried_again_instead(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        head = scene.begin(DIVIDES, x=0)

        def corrected_first(*args: Any, **options: Any) -> Head | None:
            monkeypatch.undo()
            scene.command(head, "set_variables", variables={"x": 5})
            return open_incident(*args, **options)

        monkeypatch.setattr(commands, "open_incident", corrected_first)
        scene.complete(head)
        assert (scene.waits_at(head), WorkflowIncident.objects.count()) == (["b"], 0)

    def test_the_same_failure_again_is_counted(self, scene: Scene) -> None:
        head = scene.begin(DIVIDES, x=0)
        scene.complete(head)
        scene.complete(head)
        assert (WorkflowIncident.objects.get().times, WorkflowInstance.objects.get().open_incidents) == (2, 1)

    def test_the_rest_of_the_instance_goes_on(self, scene: Scene) -> None:
        head = scene.begin(BOTH, x=0)
        scene.complete(head, "a")
        assert scene.complete(head, "b").status == "incident"

    def test_a_start_that_fails_is_kept_as_created(self, scene: Scene) -> None:
        head = scene.begin(chain("p", script("s", "y", "1 / x"), user("a")), x=0)
        assert (head.status, head.number, head.state) == ("incident", 1, None)
        assert scene.chain(head) == [(1, None, "created")]

    def test_what_has_not_started_can_only_be_retried_or_terminated(self, scene: Scene) -> None:
        head = scene.begin(chain("p", script("s", "y", "1 / x")), x=0)
        with pytest.raises(errors.NotPossible):
            scene.command(head, "set_variables", variables={"x": 1})
        assert scene.command(head, "terminate").status == "terminated"
        assert WorkflowIncident.objects.get().status == "resolved"

    def test_a_timer_that_failed_is_held(self, scene: Scene) -> None:
        head = scene.begin(chain("p", timer("t", "PT1H"), script("s", "y", "1 / x")), x=0)
        scene.pass_time(head, hours=1)
        assert WorkflowTimer.objects.get().due_at is None
        assert WorkflowInstance.objects.get().status == "incident"


class TestCloseOvertakenIncidents:
    def test_what_succeeds_the_second_time_is_settled(self, scene: Scene) -> None:
        head = scene.begin(DIVIDES, x=0)
        scene.complete(head)
        assert scene.complete(head, x=5).status == "active"
        assert (WorkflowIncident.objects.get().status, Alert.objects.get().status) == ("resolved", "resolved")

    def test_at_the_end_everything_is(self, scene: Scene) -> None:
        head = scene.begin(BOTH, x=0)
        scene.complete(head, "a")
        assert scene.command(head, "terminate").status == "terminated"
        assert WorkflowInstance.objects.get().open_incidents == 0
