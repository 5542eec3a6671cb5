from typing import Any

import pytest
from django.db import connection

from config.common.errors import Invalid
from processes.workflows import errors
from processes.workflows.ids import new_instance_id
from processes.workflows.models import (
    WorkflowBody,
    WorkflowIncident,
    WorkflowInstance,
    WorkflowSubscription,
    WorkflowTimer,
    WorkItem,
)
from processes.workflows.services import commands
from processes.workflows.services.write_step import write_step
from tests.processes.workflows.process_files import (
    chain,
    flow,
    message,
    named,
    process,
    script,
    service,
    timer,
    user,
)
from tests.processes.workflows.scene import Scene

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

TWO_TASKS = chain("p", user("a"), user("b"))
DIVIDES = chain("p", user("a"), script("s", "y", "10 / x"), user("b"))


class TestCommandInstance:
    def test_completes_a_task_as_the_next_version(self, scene: Scene) -> None:
        head = scene.complete(scene.begin(TWO_TASKS), x=5)
        assert (head.number, scene.waits_at(head)) == (2, ["b"])
        assert scene.chain(head) == [(1, None, "start"), (2, 1, "complete_task a")]
        assert scene.items(head) == [("a", "done"), ("b", "open")]

    def test_ends_with_the_last_one(self, scene: Scene) -> None:
        head = scene.begin(TWO_TASKS)
        scene.complete(head)
        scene.complete(head)
        instance = WorkflowInstance.objects.get()
        assert (instance.status, instance.head) == ("completed", 3)
        assert instance.ended_at is not None

    def test_what_is_not_the_head_is_a_conflict(self, scene: Scene) -> None:
        head = scene.begin(TWO_TASKS)
        scene.command(head, "set_variables", variables={"x": 1}, expected_version=1)
        with pytest.raises(errors.VersionConflict) as caught:
            scene.command(head, "set_variables", variables={"x": 2}, expected_version=1)
        assert caught.value.data == {"version": 2}

    def test_the_same_task_twice_is_done_once(self, scene: Scene) -> None:
        head = scene.begin(TWO_TASKS)
        task = scene.task(head)
        scene.command(head, "complete_task", task=task)
        with pytest.raises(errors.NotPossible) as caught:
            scene.command(head, "complete_task", task=task)
        assert caught.value.data["reason"]
        assert WorkflowInstance.objects.get().head == 2

    def test_a_task_of_another_instance_is_not_possible(self, scene: Scene) -> None:
        one, two = scene.begin(TWO_TASKS), scene.start("p")
        with pytest.raises(errors.NotPossible):
            scene.command(one, "complete_task", task=scene.task(two))

    def test_an_unknown_instance_is_not_found(self, scene: Scene) -> None:
        with pytest.raises(errors.InstanceNotFound):
            scene.command(new_instance_id(), "suspend")

    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({"command": "dance"}, "command"),
            ({"command": "complete_task"}, "task"),
            ({"command": "complete_task", "task": 5}, "task"),
            ({"command": "suspend", "variables": {}}, "variables"),
        ],
    )
    def test_a_wrong_command_is_refused_by_field(self, scene: Scene, body: dict[str, object], field: str) -> None:
        head = scene.begin(TWO_TASKS)
        with pytest.raises(Invalid) as caught:
            scene.command(head, **body)  # type: ignore[arg-type]
        assert field in caught.value.data["fields"]

    def test_a_large_variable_is_kept_once(self, scene: Scene) -> None:
        head = scene.begin(TWO_TASKS, big=["word"] * 1000)
        count = WorkflowBody.objects.count()
        assert count >= 1
        after = scene.complete(head)
        assert scene.head(head) == after
        assert WorkflowBody.objects.filter(content__contains='"word","word"').count() == 1

    def test_suspends_and_resumes(self, scene: Scene) -> None:
        head = scene.begin(chain("p", timer("t", "PT1H"), user("a")))
        assert scene.command(head, "suspend").status == "suspended"
        assert WorkflowTimer.objects.get().due_at is None
        assert scene.command(head, "resume").status == "active"
        assert WorkflowTimer.objects.get().due_at is not None

    def test_nobody_takes_the_work_of_a_suspended_instance(self, scene: Scene) -> None:
        head = scene.begin(chain("p", service("s", "external", "stock")))
        scene.command(head, "suspend")
        assert WorkItem.objects.get().due_at is None
        scene.command(head, "resume")
        assert WorkItem.objects.get().due_at is not None

    def test_terminates(self, scene: Scene) -> None:
        head = scene.command(scene.begin(chain("p", user("a"), timer("t", "PT1H"))), "terminate")
        assert head.status == "terminated"
        assert scene.items(head) == [("a", "cancelled")]

    def test_mirrors_timers_and_subscriptions(self, scene: Scene) -> None:
        race = process(
            "p",
            '<startEvent id="begin"/><eventBasedGateway id="g"/><endEvent id="end"/>',
            message("m")[1],
            timer("t", "PT1H")[1],
            *(flow(*pair) for pair in (("begin", "g"), ("g", "m"), ("g", "t"), ("m", "end"), ("t", "end"))),
            before=named("custom.x"),
        )
        head = scene.begin(race, record="r")
        waiting = WorkflowSubscription.objects.get()
        assert (waiting.name, waiting.record, waiting.definition, waiting.revision) == ("custom.x", "r", "p", 1)
        scene.command(head, "send_message", name="custom.x")
        assert not WorkflowSubscription.objects.exists()
        assert not WorkflowTimer.objects.exists()

    def test_takes_two_statements(self, scene: Scene, django_assert_num_queries: object) -> None:
        """One to read and one to write; the cursor that binds on the server goes past the counter of Django."""
        head = scene.begin(TWO_TASKS)
        task = scene.task(head)
        if connection.vendor != "postgresql":
            pytest.skip("SQLite has no round trips")
        with django_assert_num_queries(0):  # type: ignore[operator]
            scene.command(head, "complete_task", task=task)


class TestExecuteCommand:
    def test_whoever_is_overtaken_tries_again(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        head = scene.begin(TWO_TASKS)
        _overtake_once(scene, head.id, monkeypatch)
        after = scene.command(head, "set_variables", variables={"mine": 1})
        assert (after.number, [number for number, _, _ in scene.chain(head)]) == (3, [1, 2, 3])

    def test_unless_it_names_the_version(self, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
        head = scene.begin(TWO_TASKS)
        _overtake_once(scene, head.id, monkeypatch)
        with pytest.raises(errors.VersionConflict):
            scene.command(head, "set_variables", variables={"mine": 1}, expected_version=1)


class TestRetryIncident:
    def test_sets_the_variables_and_runs_the_command_again(self, scene: Scene) -> None:
        head = scene.begin(DIVIDES, x=0)
        scene.complete(head)
        after = scene.command(head, "retry_incident", note="x was wrong", variables={"x": 2})
        assert (after.status, after.number, scene.waits_at(head)) == ("active", 2, ["b"])
        incident = WorkflowIncident.objects.get()
        assert (incident.status, incident.note, incident.actor) == ("resolved", "x was wrong", "tester")

    def test_what_fails_again_stays_open(self, scene: Scene) -> None:
        head = scene.begin(DIVIDES, x=0)
        scene.complete(head)
        assert scene.command(head, "retry_incident", variables={"x": 0}).status == "incident"
        assert scene.head(head).number == 1

    def test_starts_what_was_created(self, scene: Scene) -> None:
        head = scene.begin(chain("p", script("s", "y", "1 / x"), user("a")), x=0)
        after = scene.command(head, "retry_incident", variables={"x": 1})
        assert (after.status, after.number, scene.waits_at(head)) == ("active", 2, ["a"])

    def test_fires_the_timer_again(self, scene: Scene) -> None:
        head = scene.begin(chain("p", timer("t", "PT1H"), script("s", "y", "1 / x")), x=0)
        scene.pass_time(head, hours=1)
        assert scene.command(head, "retry_incident", variables={"x": 1}).status == "completed"
        assert not WorkflowTimer.objects.exists()

    def test_without_an_incident_it_is_not_possible(self, scene: Scene) -> None:
        with pytest.raises(errors.NotPossible):
            scene.command(scene.begin(DIVIDES, x=1), "retry_incident")


def _overtake_once(scene: Scene, instance_id: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let somebody else move the head between the reading and the writing of the next command."""

    def overtaken(step: Any) -> Any:
        monkeypatch.setattr(commands, "write_step", write_step)
        scene.command(instance_id, "set_variables", variables={"other": 1})
        return write_step(step)

    monkeypatch.setattr(commands, "write_step", overtaken)
