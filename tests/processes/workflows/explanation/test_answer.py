"""One scenario for every verdict about instances and tasks, through commands, workers and timers."""

from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.utils import timezone

from config.common.times import format_time
from processes.workflows.explanation.verdict import Case, TaskVerdict, Verdict, decide
from processes.workflows.heads import Head
from processes.workflows.models import WorkflowInstance, WorkflowTimer, WorkItem
from processes.workflows.services.returns import return_instance
from processes.workflows.services.work_items import fail_external_task, fetch_external_tasks
from tests.processes.workflows.case_files import case, human
from tests.processes.workflows.process_files import chain, message, named, script, service, timer, user
from tests.processes.workflows.scene import ACTOR, Scene
from tests.sensors.api.callers import service as service_key
from tests.staff import signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]

MINUTE = timedelta(minutes=1)
TWO = chain("p", user("a"), user("b"))
DIVIDES = chain("p", user("a"), script("s", "y", "10 / x"), user("b"))
STOCK = chain("p", service("s", "external", "stock"), user("a"))


def ask(**query: Any) -> Any:
    found = service_key("workflows:read")("GET", f"/explain/?{urlencode(query)}")
    assert found.status_code == 200, found.content
    return found.json()


def why(head: Head) -> str:
    return str(ask(instance=head.id)["verdict"])


class TestInstance:
    def test_waits_for_a_person(self, scene: Scene) -> None:
        found = ask(instance=scene.begin(TWO).id)
        assert found["verdict"] == Verdict.PERSON
        assert found["text"].startswith("It is waiting for a person: task “A” has been open since")
        assert [row["kind"] for row in found["evidence"]] == ["workflow", "task"]

    def test_says_whose_the_task_is_or_who_may_claim_it(self, scene: Scene) -> None:
        offered = '<userTask id="a" name="A" postern:candidateGroups="Sales" postern:candidateUsers="=boss"/>'
        head = scene.begin(chain("p", ("a", offered)), boss="anna")
        found, task = ask(instance=head.id), ask(task=scene.task(head))
        assert (found["verdict"], task["verdict"]) == (Verdict.PERSON, TaskVerdict.OPEN)
        assert found["text"].endswith("nobody has claimed it; may: Sales, anna.")
        assert task["text"].endswith("nobody has claimed it; may: Sales, anna.")
        WorkItem.objects.update(assignee="anna")
        assert ask(instance=head.id)["text"].startswith("It is waiting for anna: task “A” has been open since")
        assert ask(task=scene.task(head))["text"].endswith("anna has it and has not completed it.")

    def test_ended(self, scene: Scene) -> None:
        head = scene.begin(chain("p", user("a")))
        scene.complete(head)
        found = ask(instance=head.id)
        assert (found["verdict"], found["since"] is not None) == (Verdict.ENDED, True)

    def test_incident(self, scene: Scene) -> None:
        head = scene.begin(DIVIDES, x=0)
        scene.complete(head)
        found = ask(instance=head.id)
        assert (found["verdict"], "incident" in [row["kind"] for row in found["evidence"]]) == (Verdict.INCIDENT, True)
        assert "“s”" in found["text"]  # it has no name

    def test_what_has_a_name_is_called_by_it(self, scene: Scene) -> None:
        named = DIVIDES.replace(b'<scriptTask id="s"', b'<scriptTask id="s" name="Share it out"')
        head = scene.complete(scene.begin(named, x=0))
        assert "“Share it out”" in ask(instance=head.id)["text"]

    def test_suspended(self, scene: Scene) -> None:
        head = scene.begin(TWO)
        suspended = scene.command(head, "suspend")
        scene.command(head, "set_variables", variables={"x": 1})
        found = ask(instance=head.id)
        assert found["verdict"] == Verdict.SUSPENDED
        assert found["since"] == format_time(suspended.at)

    def test_waits_for_a_worker(self, scene: Scene) -> None:
        found = ask(instance=scene.begin(STOCK).id)
        assert (found["verdict"], "stock" in found["text"]) == (Verdict.WORKER, True)

    def test_a_worker_has_it(self, scene: Scene) -> None:
        head = scene.begin(STOCK)
        fetch_external_tasks(topic="stock", worker="w1", limit=1, lock=MINUTE)
        found = ask(instance=head.id)
        assert (found["verdict"], "w1" in found["text"]) == (Verdict.WORKING, True)

    def test_waits_for_a_retry(self, scene: Scene) -> None:
        head = scene.begin(STOCK)
        (task,) = fetch_external_tasks(topic="stock", worker="w1", limit=1, lock=MINUTE)
        fail_external_task(
            task=task.item.public_id, worker="w1", error="no", retries=3, delay=MINUTE, at=timezone.now()
        )
        assert why(head) == Verdict.RETRY

    def test_waits_for_a_timer(self, scene: Scene) -> None:
        head = scene.begin(chain("p", timer("t", "PT1H")))
        found = ask(instance=head.id)
        assert (found["verdict"], found["until"] is not None) == (Verdict.TIMER, True)

    def test_a_timer_that_our_side_has_not_come_to(self, scene: Scene) -> None:
        head = scene.begin(chain("p", timer("t", "PT1H")))
        WorkflowTimer.objects.update(due_at=timezone.now() - MINUTE)
        assert why(head) == Verdict.DUE

    def test_waits_for_an_event(self, scene: Scene) -> None:
        head = scene.begin(chain("p", message("m"), before=named("custom.paid")))
        found = ask(instance=head.id)
        assert (found["verdict"], found["text"]) == (Verdict.EVENT, "It is waiting for the event “custom.paid”.")

    def test_an_event_that_it_waits_for_is_said_in_words(self, scene: Scene) -> None:
        head = scene.begin(chain("p", message("m"), before=named("sensor.connection_lost")))
        assert ask(instance=head.id)["text"] == "It is waiting for the event “Connection lost”."

    def test_waits_for_a_start(self, scene: Scene) -> None:
        head = scene.begin(case(human("visit", manual=True)).encode())
        found = ask(instance=head.id)
        assert (found["verdict"], "visit" in found["text"]) == (Verdict.START, True)

    def test_what_nothing_explains_is_said(self) -> None:
        """An instance without anything open has ended."""
        assert decide(Case(timezone.now(), WorkflowInstance(status="active"))).verdict == Verdict.UNEXPLAINED

    def test_unknown_is_not_found(self) -> None:
        unknown = "0d6f6c1e-6f5b-4a52-9b55-6a3f3d0f7c11"
        assert service_key("workflows:read")("GET", f"/explain/?instance={unknown}").status_code == 404

    def test_needs_the_scope(self, scene: Scene) -> None:
        head = scene.begin(TWO)
        assert service_key("history:read")("GET", f"/explain/?instance={head.id}").status_code == 403


class TestTask:
    def test_open(self, scene: Scene) -> None:
        head = scene.begin(TWO)
        assert ask(task=scene.task(head))["verdict"] == TaskVerdict.OPEN
        assert ask(instance=head.id, task="a")["verdict"] == TaskVerdict.OPEN

    def test_done(self, scene: Scene) -> None:
        head = scene.begin(TWO)
        task = scene.task(head)
        scene.complete(head)
        found = ask(task=task)
        assert (found["verdict"], [row["kind"] for row in found["evidence"]]) == (TaskVerdict.DONE, ["task", "version"])
        assert ACTOR in found["text"]

    def test_not_reached_says_what_the_instance_waits_for(self, scene: Scene) -> None:
        head = scene.begin(TWO)
        found = ask(instance=head.id, task="b")
        assert found["verdict"] == TaskVerdict.NOT_REACHED
        assert "It is waiting for a person: task “A”" in found["text"]

    def test_no_such_element(self, scene: Scene) -> None:
        assert ask(instance=scene.begin(TWO).id, task="zz")["verdict"] == TaskVerdict.UNKNOWN

    def test_the_instance_ended_without_it(self, scene: Scene) -> None:
        head = scene.begin(TWO)
        scene.command(head, "terminate")
        assert ask(instance=head.id, task="b")["verdict"] == TaskVerdict.ENDED
        assert ask(instance=head.id, task="a")["verdict"] == TaskVerdict.CANCELLED

    def test_abandoned(self, scene: Scene) -> None:
        head = scene.begin(TWO)
        scene.complete(head)
        task = scene.task(head)
        return_instance(head.id, version=1, reason="again", actor=ACTOR, at=timezone.now())
        found = ask(task=task)
        assert found["verdict"] == TaskVerdict.ABANDONED

    def test_suspended(self, scene: Scene) -> None:
        head = scene.begin(TWO)
        task = scene.task(head)
        scene.command(head, "suspend")
        assert ask(task=task)["verdict"] == TaskVerdict.SUSPENDED

    def test_incident(self, scene: Scene) -> None:
        head = scene.begin(DIVIDES, x=0)
        task = scene.task(head)
        scene.complete(head)
        found = ask(task=task)
        assert (found["verdict"], [row["kind"] for row in found["evidence"]]) == (
            TaskVerdict.INCIDENT,
            ["task", "incident"],
        )

    def test_of_no_instance_is_named(self) -> None:
        found = service_key("workflows:read")("GET", "/explain/?task=a")
        assert (found.status_code, list(found.json()["data"]["fields"])) == (400, ["task"])


def test_the_pages_lead_to_it(scene: Scene) -> None:
    head = scene.begin(TWO)
    item = WorkItem.objects.get()
    browser = signed_in("viewer")
    page = browser.get(f"/admin/workflows/workflowinstance/{head.id}/change/").content.decode()
    assert f"/admin/explain/?instance={head.id}" in page
    answer = browser.get(f"/admin/explain/?instance={head.id}").content.decode()
    assert "It is waiting for a person" in answer
    assert 'name="task"' in answer
    scene.complete(head)
    closed = browser.get(f"/admin/workflows/workitem/{item.pk}/change/").content.decode()
    assert "/admin/explain/?task=" in closed
