from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from config.common.correlation import correlated
from config.common.errors import Invalid
from processes.workflows import errors
from processes.workflows.ids import new_instance_id
from processes.workflows.models import (
    WorkflowBody,
    WorkflowInstance,
    WorkflowSubscription,
    WorkflowTimer,
    WorkflowVersion,
    WorkItem,
)
from processes.workflows.services import execution
from processes.workflows.services.start import StartRequest, start_instance
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
from tests.processes.workflows.scene import ACTOR, Scene

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

TWO_TASKS = chain("p", user("a"), user("b"))


class TestStartInstance:
    def test_writes_the_first_version(self, scene: Scene) -> None:
        with correlated("chain-1234"):
            head = scene.begin(TWO_TASKS, record="r1", x=1)
        version = WorkflowVersion.objects.get()
        assert (version.number, version.parent, version.cause, version.actor) == (1, None, "start", ACTOR)
        assert (version.correlation_id, version.status) == ("chain-1234", "active")
        assert scene.head(head) == head

    def test_mirrors_the_open_task(self, scene: Scene) -> None:
        head = scene.begin(TWO_TASKS)
        item = WorkItem.objects.get()
        assert (item.element, item.name, item.kind, item.status, item.opened_by) == ("a", "A", "user", "open", 1)
        assert item.public_id == scene.task(head)

    def test_an_older_revision_may_be_named(self, scene: Scene) -> None:
        scene.publish(TWO_TASKS)
        scene.publish(chain("p", user("c")))
        head = start_instance(StartRequest("p", revision=1), actor=ACTOR, at=timezone.now())
        assert (head.revision, scene.waits_at(head)) == (1, ["a"])

    def test_an_unknown_definition_or_revision_is_not_found(self, scene: Scene) -> None:
        with pytest.raises(errors.DefinitionNotFound):
            scene.start("p")
        scene.publish(TWO_TASKS)
        with pytest.raises(errors.RevisionNotFound):
            start_instance(StartRequest("p", revision=2), actor=ACTOR, at=timezone.now())

    def test_a_record_has_at_most_200_characters(self, scene: Scene) -> None:
        scene.publish(TWO_TASKS)
        with pytest.raises(Invalid):
            scene.start("p", record="x" * 201)

    def test_a_process_without_a_plain_start_is_not_possible(self, scene: Scene) -> None:
        begin = '<startEvent id="begin"><messageEventDefinition messageRef="m1"/></startEvent>'
        with pytest.raises(errors.NotPossible):
            scene.begin(chain("p", user("a"), before=named("custom.x"), start=begin))

    def test_a_process_may_end_at_once(self, scene: Scene) -> None:
        head = scene.begin(chain("p", script("s", "y", "x + 1")), x=1)
        assert (head.status, head.ended_at) == ("completed", head.at)


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


class TestCarryOut:
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


def _overtake_once(scene: Scene, instance_id: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let somebody else move the head between the reading and the writing of the next command."""

    def overtaken(step: Any) -> Any:
        monkeypatch.setattr(execution, "write_step", write_step)
        scene.command(instance_id, "set_variables", variables={"other": 1})
        return write_step(step)

    monkeypatch.setattr(execution, "write_step", overtaken)
