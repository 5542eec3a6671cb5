"""The calls about external tasks, as the contract has them."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from processes.workflows.models import WorkItem
from tests.processes.workflows.api.calls import NOBODY, command, failed
from tests.processes.workflows.process_files import chain, flow, process, user
from tests.processes.workflows.process_files import service as service_task
from tests.sensors.api.callers import Caller

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


ERROR = '<errorEventDefinition errorRef="e" postern:codeVariable="code" camunda:errorMessageVariable="said"/>'
BOUNDARY = (
    f'<boundaryEvent id="uncovered" attachedToRef="charge">{ERROR}</boundaryEvent>{user("dun")[1]}'
    f"{flow('uncovered', 'dun')}{flow('dun', 'end')}"
)
EVENT_SUB_PROCESS = (
    f'<subProcess id="handler" triggeredByEvent="true"><startEvent id="uncovered">{ERROR}</startEvent>'
    f"{user('dun')[1]}{flow('uncovered', 'dun')}</subProcess>"
)


def catching(catcher: str) -> bytes:
    """A payment whose error E42 is caught."""
    parts = ('<startEvent id="begin"/><endEvent id="end"/>', service_task("charge", "external", "bank")[1], catcher)
    flows = (flow("begin", "charge"), flow("charge", "end"))
    source = process("pay", *parts, *flows, before='<error id="e" errorCode="E42"/>')
    return source.replace(b"<definitions ", b'<definitions xmlns:camunda="http://camunda.org/schema/1.0/bpmn" ')


class TestExternalTasks:
    @pytest.fixture
    def task(self, begin: Any) -> Any:
        return begin(chain("pay", service_task("charge", "external", "bank")), variables={"sum": 3})

    def fetch(self, caller: Caller, worker: str = "w1", topic: str = "bank") -> list[Any]:
        body = {"topic": topic, "worker": worker, "max": 5, "lock_seconds": 30}
        found: list[Any] = caller("POST", "/workflows/external-tasks/fetch/", body).json()["results"]
        return found

    def test_is_given_to_one_worker(self, caller: Caller, task: Any) -> None:
        [fetched] = self.fetch(caller)
        assert (fetched["id"], fetched["variables"]) == (task["tasks"][0]["id"], {"sum": 3})
        assert self.fetch(caller, "w2") == []
        assert self.fetch(caller, topic="other") == []

    def test_is_completed_by_its_worker(self, caller: Caller, task: Any) -> None:
        [fetched] = self.fetch(caller)
        path = f"/workflows/external-tasks/{fetched['id']}/complete/"
        assert failed(caller("POST", path, {"worker": "w2", "variables": {}})) == (409, "not_locked")
        answer = caller("POST", path, {"worker": "w1", "variables": {"paid": True}})
        assert (answer.json()["status"], answer.json()["variables"]["paid"]) == ("completed", True)

    def test_is_offered_again_after_a_failure(self, caller: Caller, task: Any) -> None:
        [fetched] = self.fetch(caller)
        body = {"worker": "w1", "error": "bank closed", "retries": 2, "delay": 0}
        assert caller("POST", f"/workflows/external-tasks/{fetched['id']}/fail/", body).status_code == 204
        [again] = self.fetch(caller, "w2")
        assert (again["id"], again["retries"], again["error"]) == (fetched["id"], 2, "bank closed")

    def test_without_tries_left_it_is_an_incident_to_be_retried(self, caller: Caller, task: Any) -> None:
        [fetched] = self.fetch(caller)
        body = {"worker": "w1", "error": "no such account", "retries": 0, "delay": 0}
        caller("POST", f"/workflows/external-tasks/{fetched['id']}/fail/", body)
        stuck = caller("GET", f"/workflows/instances/{task['id']}/").json()
        assert (stuck["status"], stuck["incidents"][0]["element"]) == ("incident", "charge")
        assert self.fetch(caller) == []
        retried = command(caller, task, "retry_incident", note="account opened", variables={"sum": 4}).json()
        assert (retried["status"], retried["incidents"]) == ("active", [])
        assert len(self.fetch(caller)) == 1

    @pytest.mark.parametrize("catcher", [BOUNDARY, EVENT_SUB_PROCESS], ids=["boundary", "event sub-process"])
    def test_a_worker_raises_an_error_that_the_process_catches(self, caller: Caller, begin: Any, catcher: str) -> None:
        instance = begin(catching(catcher), variables={"sum": 3})
        [fetched] = self.fetch(caller)
        body = {"worker": "w1", "code": "E42", "error_message": "no cover", "variables": {"balance": 1}}
        path = f"/workflows/external-tasks/{fetched['id']}/fail/"
        assert failed(caller("POST", path, {**body, "worker": "w2"})) == (409, "not_locked")
        assert caller("POST", path, body).status_code == 204
        shown = caller("GET", f"/workflows/instances/{instance['id']}/").json()
        assert ([task["element"] for task in shown["tasks"]], shown["status"]) == (["dun"], "active")
        assert shown["variables"] == {"sum": 3, "balance": 1, "code": "E42", "said": "no cover"}
        assert failed(caller("POST", path, body)) == (409, "not_possible")

    def test_an_error_that_nothing_catches_is_an_incident_that_says_so(self, caller: Caller, begin: Any) -> None:
        instance = begin(catching(BOUNDARY), variables={"sum": 3})
        [fetched] = self.fetch(caller)
        body = {"worker": "w1", "code": "E43", "error_message": "no cover", "variables": {"balance": 1}}
        assert caller("POST", f"/workflows/external-tasks/{fetched['id']}/fail/", body).status_code == 204
        shown = caller("GET", f"/workflows/instances/{instance['id']}/").json()
        [incident] = shown["incidents"]
        assert (incident["element"], incident["reason"]) == ("charge", "Nothing catches the error E43: no cover")
        assert (shown["status"], shown["variables"], self.fetch(caller)) == ("incident", {"sum": 3}, [])
        # A retry asks a worker again, not the engine: the same error would fail in the same way.
        assert command(caller, instance, "retry_incident", note="covered").json()["status"] == "active"
        [again] = self.fetch(caller, "w2")
        done = caller("POST", f"/workflows/external-tasks/{again['id']}/complete/", {"worker": "w2"})
        assert done.json()["status"] == "completed"

    @pytest.mark.parametrize(
        ("body", "fields"),
        [
            ({"worker": "w1"}, {"error"}),
            ({"worker": "w1", "error": "x", "error_message": "y"}, {"error_message"}),
            ({"worker": "w1", "error": "x", "variables": {}}, {"variables"}),
            ({"worker": "w1", "code": "x" * 201}, {"code"}),
        ],
    )
    def test_a_failure_is_one_or_the_other(self, caller: Caller, body: Any, fields: set[str]) -> None:
        answer = caller("POST", f"/workflows/external-tasks/{NOBODY}.0.1/fail/", body)
        assert (answer.status_code, set(answer.json()["data"]["fields"])) == (400, fields)

    def test_its_lock_is_extended(self, caller: Caller, task: Any) -> None:
        [fetched] = self.fetch(caller)
        path, body = f"/workflows/external-tasks/{fetched['id']}/extend-lock/", {"worker": "w1", "lock_seconds": 600}
        assert failed(caller("POST", path, {**body, "worker": "w2"})) == (409, "not_locked")
        answer = caller("POST", path, body).json()
        assert (answer["id"], answer["worker"]) == (fetched["id"], "w1")
        assert answer["locked_until"] > fetched["locked_until"]
        # A lock that has run out is the worker's own until another one takes the task.
        WorkItem.objects.update(due_at=timezone.now() - timedelta(minutes=1))
        assert caller("POST", path, body).status_code == 200
        assert self.fetch(caller, "w2") == []

    def test_a_lock_that_another_worker_has_is_not_extended(self, caller: Caller, task: Any) -> None:
        [fetched] = self.fetch(caller)
        WorkItem.objects.update(due_at=timezone.now() - timedelta(minutes=1))
        self.fetch(caller, "w2")
        answer = caller(
            "POST", f"/workflows/external-tasks/{fetched['id']}/extend-lock/", {"worker": "w1", "lock_seconds": 5}
        )
        assert failed(answer) == (409, "not_locked")

    def test_a_task_of_a_suspended_instance_is_not_offered_by_extending_its_lock(
        self, caller: Caller, task: Any
    ) -> None:
        [fetched] = self.fetch(caller)
        command(caller, task, "suspend")
        answer = caller(
            "POST", f"/workflows/external-tasks/{fetched['id']}/extend-lock/", {"worker": "w1", "lock_seconds": 5}
        )
        assert (failed(answer), WorkItem.objects.get().due_at) == ((409, "not_possible"), None)

    def test_after_a_return_it_is_abandoned(self, caller: Caller, task: Any) -> None:
        command(caller, task, "set_variables", variables={"sum": 4})
        [fetched] = self.fetch(caller)
        caller("POST", f"/workflows/instances/{task['id']}/return/", {"version": 1, "reason": "wrong sum"})
        answer = caller("POST", f"/workflows/external-tasks/{fetched['id']}/complete/", {"worker": "w1"})
        assert failed(answer) == (409, "abandoned")
        assert WorkItem.objects.get(status="open").element == "charge"

    @pytest.mark.parametrize("task_id", ["x", f"{NOBODY}.0.1"])
    def test_an_unknown_one_is_404(self, caller: Caller, task_id: str) -> None:
        answer = caller("POST", f"/workflows/external-tasks/{task_id}/complete/", {"worker": "w"})
        assert answer.status_code == 404
