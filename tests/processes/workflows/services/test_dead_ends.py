from typing import Any

import pytest

from processes.workflows.engine.execution import flows
from processes.workflows.models import WorkflowIncident
from processes.workflows.services.dead_ends import report_dead_ends
from tests.processes.workflows.process_files import chain, flow, process, user
from tests.processes.workflows.scene import Scene

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

STUCK = process(
    "stuck",
    '<startEvent id="begin"/><exclusiveGateway id="way" default="way_b"/><task id="a"/><task id="b"/>',
    '<parallelGateway id="join" name="Both"/><endEvent id="end"/>',
    flow("begin", "way"),
    flow("way", "a", "x == 1"),
    flow("way", "b"),
    flow("a", "join"),
    flow("b", "join"),
    flow("join", "end"),
)


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An earlier release, which let an instance come to a dead end."""
    monkeypatch.setattr(flows, "fail_if_stuck", lambda work: None)
    return monkeypatch


class TestReportDeadEnds:
    def test_one_from_before_gets_its_incident_once(self, scene: Scene, unchecked: pytest.MonkeyPatch) -> None:
        head = scene.begin(STUCK, x=1)
        assert scene.head(head).status == "active"
        unchecked.undo()
        assert (report_dead_ends(), report_dead_ends()) == (1, 0)
        incident = WorkflowIncident.objects.get()
        assert (scene.head(head).status, incident.element) == ("incident", "join")
        assert "Nothing in the instance can move any more" in incident.reason

    def test_what_waits_for_something_is_left_alone(self, scene: Scene, unchecked: pytest.MonkeyPatch) -> None:
        waits = scene.begin(chain("p", user("a")))
        condition = "<conditionalEventDefinition><condition>x == 5</condition></conditionalEventDefinition>"
        event = ("c", f'<intermediateCatchEvent id="c">{condition}</intermediateCatchEvent>')
        conditional = scene.begin(chain("q", event), x=1)
        unchecked.undo()
        assert report_dead_ends() == 0
        assert [scene.head(each).status for each in (waits, conditional)] == ["active", "active"]

    def test_a_retry_looks_again(self, scene: Scene, unchecked: pytest.MonkeyPatch) -> None:
        head = scene.begin(STUCK, x=1)
        unchecked.undo()
        report_dead_ends()
        scene.command(head, "retry_incident", note="again")
        assert WorkflowIncident.objects.get().times == 2

    def test_reads_in_steps(
        self, scene: Scene, unchecked: pytest.MonkeyPatch, django_assert_max_num_queries: Any
    ) -> None:
        for _ in range(5):
            scene.begin(chain("p", user("a")))
        unchecked.undo()
        with django_assert_max_num_queries(3):
            assert report_dead_ends() == 0
