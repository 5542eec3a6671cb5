import pytest
from django.urls import reverse

from config.audit.trace import Standing, Trace, read_trace
from config.common.correlation import correlated
from processes.workflows.models import WorkItem
from tests.processes.workflows.process_files import chain, timer, user
from tests.processes.workflows.scene import Scene
from tests.staff import signed_in
from tests.trace_button import find_trace_button

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

CHAIN = "call-0001"


def traced(name: str = CHAIN) -> Trace:
    return read_trace(name, may=lambda permission: permission.startswith("workflows."))


class TestTraceVersions:
    def test_tells_who_acted_and_which_timers_and_tasks_are_to_come(self, scene: Scene) -> None:
        with correlated(CHAIN):
            scene.begin(chain("p", timer("t", "PT1H"), user("a")))
            scene.begin(chain("q", user("b")))
        trace = traced()
        assert {step.actor for step in trace.steps} == {"tester"}
        (fires, _), (waits, _) = trace.upcoming
        assert (fires.what, fires.at is not None) == ("timer t", True)
        assert (waits.what, waits.at) == ("task B is waiting for a person", None)
        assert trace.outcome == Standing.OPEN

    def test_elements_are_called_as_people_know_them(self, scene: Scene) -> None:
        named = "t", timer("t", "PT1H")[1].replace('id="t"', 'id="t" name="An hour"', 1)
        with correlated(CHAIN):
            head = scene.begin(chain("p", named, user("a")), record="sensor/Door1")
        assert [coming.what for coming, _ in traced().upcoming] == ["timer An hour"]
        scene.pass_time(head, seconds=1)
        assert [step.summary for step in traced().steps][-1] == "p · Door1, version 2: timer fired: An hour"

    def test_one_that_another_call_moved_on_is_told_there(self, scene: Scene) -> None:
        with correlated(CHAIN):
            head = scene.begin(chain("p", user("a"), user("b")), record="order-7")
        with correlated("call-0002"):
            scene.complete(head)
        trace = traced()
        assert (trace.upcoming, trace.outcome) == ([], None)
        assert [(other.correlation_id, other.what) for other in trace.related] == [
            ("call-0002", "p · order-7 continues: version 2")
        ]
        assert [coming.what for coming, _ in traced("call-0002").upcoming] == ["task B is waiting for a person"]

    def test_one_that_has_ended_is_done(self, scene: Scene) -> None:
        with correlated(CHAIN):
            scene.complete(scene.begin(chain("p", user("a"))))
        assert traced().outcome == Standing.DONE

    def test_what_a_timer_causes_belongs_to_what_set_it(self, scene: Scene) -> None:
        with correlated(CHAIN):
            head = scene.begin(chain("p", timer("t", "PT1H"), user("a")))
        scene.pass_time(head, seconds=1)
        assert [step.summary for step in traced().steps][-1] == "p, version 2: timer fired: t"

    def test_the_engine_that_goes_on_by_itself_is_nobody_who_acted(self, scene: Scene) -> None:
        with correlated(CHAIN):
            head = scene.begin(chain("p", timer("t", "PT1H"), user("a")))
        scene.pass_time(head, seconds=1)
        steps = traced().steps
        assert [step.actor for step in steps] == ["tester", ""]
        assert steps[-1].data["actor"] == "timer"

    def test_costs_the_same_for_many(self, scene: Scene, django_assert_max_num_queries: object) -> None:
        with correlated(CHAIN):
            scene.publish(chain("p", timer("t", "PT1H"), user("a")))
            for _ in range(10):
                scene.start("p")
        with django_assert_max_num_queries(7):  # type: ignore[operator]
            assert len(traced().steps) == 10


def test_the_pages_of_an_instance_a_version_and_a_task_lead_to_their_traces(scene: Scene) -> None:
    with correlated(CHAIN):
        head = scene.begin(chain("p", user("a"), user("b")))
    with correlated("call-0002"):
        scene.complete(head)
    browser, task = signed_in("viewer"), WorkItem.objects.get(element="b")
    pages = {
        f"/admin/workflows/workflowinstance/{head.id}/change/": CHAIN,
        reverse("admin:workflows_instance_version", args=[head.id, 2]): "call-0002",
        f"/admin/workflows/workitem/{task.pk}/change/": "call-0002",
    }
    assert {page: find_trace_button(browser, page) for page in pages} == {
        page: f"/admin/trace/?id={name}" for page, name in pages.items()
    }
