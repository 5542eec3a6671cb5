"""The calls about external tasks, as the contract has them."""

from typing import Any

import pytest

from processes.workflows.models import WorkItem
from tests.processes.workflows.api.calls import NOBODY, command, failed
from tests.processes.workflows.process_files import chain
from tests.processes.workflows.process_files import service as service_task
from tests.sensors.api.callers import Caller

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


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
