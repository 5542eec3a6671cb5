from collections.abc import Iterator
from typing import Any

import pytest
from django.db.models.functions import Now

from processes.workflows.models import WorkflowIncident, WorkItem
from processes.workflows.services import jobs
from processes.workflows.services.jobs import BpmnError, Job, register_handler, run_due_jobs
from tests.processes.workflows.process_files import chain, flow, process, service, user
from tests.processes.workflows.scene import Scene

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

DOUBLE = chain("p", service("s", "double", x="x"), user("a"))


@pytest.fixture(autouse=True)
def seen() -> Iterator[list[Job]]:
    """What the handlers of the tests were asked."""
    asked: list[Job] = []

    def double(job: Job) -> dict[str, Any]:
        asked.append(job)
        if job.inputs["x"] == "odd":
            return {"no name": 1}
        if job.inputs["x"] is None:
            raise BpmnError("empty")
        return {"y": job.inputs["x"] * 2 if job.inputs["x"] else 1 // 0}

    register_handler("double", double)
    yield asked
    jobs._handlers.pop("double")


class TestRunDueJobs:
    def test_the_result_becomes_variables(self, scene: Scene, seen: list[Job]) -> None:
        head = scene.begin(DOUBLE, x=4)
        run_due_jobs()
        state = scene.head(head).state
        assert state is not None
        assert next(iter(state["scopes"].values()))["variables"] == {"x": 4, "y": 8}
        assert (scene.waits_at(head), len(seen)) == (["a"], 1)

    def test_is_run_once(self, scene: Scene, seen: list[Job]) -> None:
        scene.begin(DOUBLE, x=4)
        run_due_jobs()
        run_due_jobs()
        assert len(seen) == 1

    def test_a_failure_is_tried_again_later(self, scene: Scene) -> None:
        head = scene.begin(DOUBLE, x=0)
        run_due_jobs()
        item = WorkItem.objects.get()
        assert (item.retries, "ZeroDivisionError" in item.last_error) == (2, True)
        assert scene.head(head).status == "active"

    def test_the_file_may_say_how_often(self, scene: Scene) -> None:
        name, task = service("s", "double", x="x")
        head = scene.begin(chain("p", (name, task.replace("<serviceTask", '<serviceTask postern:retry="1"'))), x=0)
        run_due_jobs()
        assert (scene.head(head).status, WorkItem.objects.get().retries) == ("incident", 0)

    def test_the_last_failure_is_an_incident(self, scene: Scene) -> None:
        head = scene.begin(DOUBLE, x=0)
        for _ in range(3):
            WorkItem.objects.update(due_at=Now())
            run_due_jobs()
        assert (scene.head(head).status, WorkflowIncident.objects.get().element) == ("incident", "s")

    def test_a_result_that_cannot_be_variables_is_a_failure(self, scene: Scene) -> None:
        scene.begin(DOUBLE, x="odd")
        run_due_jobs()
        item = WorkItem.objects.get()
        assert (item.retries, "no name" in item.last_error) == (2, True)

    def test_an_unknown_handler_fails(self, scene: Scene) -> None:
        scene.begin(chain("p", service("s", "nobody")))
        run_due_jobs()
        assert "nobody" in WorkItem.objects.get().last_error

    def test_an_error_of_the_process_is_raised_at_the_task(self, scene: Scene) -> None:
        catches = '<boundaryEvent id="oops" attachedToRef="s"><errorEventDefinition errorRef="e"/></boundaryEvent>'
        source = process(
            "p",
            '<startEvent id="begin"/><endEvent id="end"/>',
            service("s", "double", x="x")[1],
            catches,
            user("a")[1],
            *(flow(*pair) for pair in (("begin", "s"), ("s", "end"), ("oops", "a"), ("a", "end"))),
            before='<error id="e" errorCode="empty"/>',
        )
        head = scene.begin(source, x=None)
        run_due_jobs()
        assert scene.waits_at(head) == ["a"]

    def test_an_error_that_nothing_catches_is_an_incident_whose_retry_runs_the_handler_again(
        self, scene: Scene, seen: list[Job]
    ) -> None:
        head = scene.begin(chain("p", service("s", "double"), user("a")), x=None)
        run_due_jobs()
        assert WorkflowIncident.objects.get().reason == "Nothing catches the error empty."
        scene.command(head, "retry_incident", note="filled in", variables={"x": 2})
        run_due_jobs()
        assert (scene.waits_at(head), len(seen)) == (["a"], 2)

    def test_a_cancelled_job_is_not_run(self, scene: Scene, seen: list[Job]) -> None:
        scene.command(scene.begin(DOUBLE, x=1), "terminate")
        run_due_jobs()
        assert seen == []
