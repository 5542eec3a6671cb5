"""The calls about instances, their versions and tasks, as the contract has them."""

from typing import Any

import pytest

from processes.workflows.models import WorkflowInstance, WorkflowVersion
from tests.processes.workflows.api.calls import NOBODY, command, failed
from tests.processes.workflows.case_files import case, human, listener
from tests.processes.workflows.process_files import chain, user
from tests.sensors.api.callers import Caller, service

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


class TestInstances:
    def test_a_new_one_waits_at_its_first_task(self, begin: Any) -> None:
        instance = begin(record="order/7", variables={"sum": 5})
        assert instance["status"] == "active"
        assert (instance["definition"], instance["revision"], instance["version"]) == ("order", 1, 1)
        assert (instance["record"], instance["variables"]) == ("order/7", {"sum": 5})
        assert [each["element"] for each in instance["active"]] == ["check"]
        assert [(task["element"], task["name"], task["kind"]) for task in instance["tasks"]] == [
            ("check", "Check", "user")
        ]
        assert instance["timers"] == instance["items"] == instance["incidents"] == []

    def test_is_read_and_listed(self, caller: Caller, begin: Any) -> None:
        first, second = begin(record="a"), begin(record="b")
        assert caller("GET", f"/workflows/instances/{first['id']}/").json() == first
        listed = caller("GET", "/workflows/instances/?status=active&definition=order").json()["results"]
        assert [each["id"] for each in listed] == [second["id"], first["id"]]
        [found] = caller("GET", "/workflows/instances/?record=a").json()["results"]
        assert found == first

    def test_an_earlier_revision_may_be_started(self, caller: Caller, begin: Any) -> None:
        begin()
        caller("POST", "/workflows/definitions/", {"source": chain("order", user("pack")).decode()})
        answer = caller("POST", "/workflows/instances/", {"definition": "order", "revision": 1})
        assert answer.json()["tasks"][0]["element"] == "check"

    @pytest.mark.parametrize("body", [{"definition": "none"}, {"definition": "order", "revision": 2}])
    def test_a_definition_that_is_not_there_is_404(self, caller: Caller, begin: Any, body: Any) -> None:
        begin()
        assert caller("POST", "/workflows/instances/", body).status_code == 404

    @pytest.mark.parametrize(
        "body", [{}, {"definition": "order", "record": "x" * 201}, {"definition": "order", "variables": [1]}]
    )
    def test_a_wrong_body_is_refused(self, caller: Caller, body: Any) -> None:
        assert failed(caller("POST", "/workflows/instances/", body)) == (400, "invalid")

    def test_an_unknown_one_is_404(self, caller: Caller) -> None:
        for path in ("", "versions/", "versions/1/", "diff/?from=1&to=1"):
            assert caller("GET", f"/workflows/instances/{NOBODY}/{path}").status_code == 404
        for path, body in (("commands", {"command": "suspend"}), ("return", {"version": 1, "reason": "x"})):
            assert caller("POST", f"/workflows/instances/{NOBODY}/{path}/", body).status_code == 404

    def test_a_repeat_under_one_key_starts_one(self, caller: Caller, begin: Any) -> None:
        begin()
        body = {"definition": "order"}
        answers = [caller("POST", "/workflows/instances/", body, **{"Idempotency-Key": "once"}) for _ in range(2)]
        assert answers[0].json() == answers[1].json()
        assert WorkflowInstance.objects.count() == 2

    def test_reading_needs_the_scope_and_so_does_writing(self, begin: Any) -> None:
        instance, reader = begin(), service("workflows:read")
        assert reader("GET", f"/workflows/instances/{instance['id']}/").status_code == 200
        assert command(reader, instance, "suspend").status_code == 403
        assert service("registry:read")("GET", "/workflows/instances/").status_code == 403


class TestCommands:
    def test_completing_a_task_moves_on(self, caller: Caller, begin: Any) -> None:
        instance = begin()
        task = instance["tasks"][0]["id"]
        moved = command(caller, instance, "complete_task", task=task, variables={"ok": True}).json()
        assert (moved["version"], moved["variables"]) == (2, {"ok": True})
        assert [each["element"] for each in moved["tasks"]] == ["ship"]

    def test_another_version_than_expected_is_a_conflict(self, caller: Caller, begin: Any) -> None:
        instance = begin()
        command(caller, instance, "set_variables", variables={"a": 1})
        answer = command(caller, instance, "set_variables", variables={"a": 2}, expected_version=1)
        assert failed(answer) == (409, "version_conflict")
        assert command(caller, instance, "set_variables", variables={}, expected_version=2).status_code == 200

    @pytest.mark.parametrize("name", ["resume", "close", "occur"])
    def test_what_does_not_fit_is_not_possible(self, caller: Caller, begin: Any, name: str) -> None:
        fields = {"item": "1.1"} if name == "occur" else {}
        answer = command(caller, begin(), name, **fields)
        assert failed(answer) == (409, "not_possible")
        assert answer.json()["data"]["reason"]

    def test_a_task_cannot_be_completed_twice(self, caller: Caller, begin: Any) -> None:
        instance = begin()
        task = instance["tasks"][0]["id"]
        command(caller, instance, "complete_task", task=task, variables={})
        assert failed(command(caller, instance, "complete_task", task=task, variables={})) == (409, "not_possible")

    @pytest.mark.parametrize(
        "fields", [{"command": "fly"}, {"command": "complete_task"}, {}, {"command": "suspend", "more": 1}]
    )
    def test_an_unknown_command_or_field_is_refused(self, caller: Caller, begin: Any, fields: Any) -> None:
        answer = caller("POST", f"/workflows/instances/{begin()['id']}/commands/", fields)
        assert failed(answer) == (400, "invalid")

    def test_suspended_resumed_terminated(self, caller: Caller, begin: Any) -> None:
        instance = begin()
        statuses = [command(caller, instance, name).json()["status"] for name in ("suspend", "resume", "terminate")]
        assert statuses == ["suspended", "active", "terminated"]

    def test_a_repeat_under_one_key_moves_once(self, caller: Caller, begin: Any) -> None:
        instance = begin()
        body = {"command": "set_variables", "variables": {"a": 1}}
        path = f"/workflows/instances/{instance['id']}/commands/"
        answers = [caller("POST", path, body, **{"Idempotency-Key": "once"}) for _ in range(2)]
        assert [answer.json()["version"] for answer in answers] == [2, 2]
        assert WorkflowVersion.objects.count() == 2


class TestVersions:
    def test_every_state_is_kept(self, caller: Caller, begin: Any) -> None:
        instance = begin()
        command(caller, instance, "complete_task", task=instance["tasks"][0]["id"], variables={"ok": True})
        listed = caller("GET", f"/workflows/instances/{instance['id']}/versions/").json()["results"]
        assert [(each["number"], each["parent"]) for each in listed] == [(2, 1), (1, None)]
        first = caller("GET", f"/workflows/instances/{instance['id']}/versions/1/").json()
        assert first == listed[1]
        assert first["variables"] == {}
        assert first["definition_revision"] == 1

    def test_two_are_compared(self, caller: Caller, begin: Any) -> None:
        instance = begin(variables={"a": 1, "b": 1})
        command(caller, instance, "complete_task", task=instance["tasks"][0]["id"], variables={"a": 2, "c": 3})
        found = caller("GET", f"/workflows/instances/{instance['id']}/diff/?from=1&to=2").json()
        assert set(found["variables"]) == {"added", "removed", "changed"}
        assert "c" in found["variables"]["added"]
        assert "a" in found["variables"]["changed"]
        assert set(found["active"]) == {"added", "removed"}

    @pytest.mark.parametrize("query", ["", "?from=1", "?from=0&to=1", "?from=x&to=1"])
    def test_a_wrong_comparison_is_refused(self, caller: Caller, begin: Any, query: str) -> None:
        answer = caller("GET", f"/workflows/instances/{begin()['id']}/diff/{query}")
        assert failed(answer) == (400, "invalid")


class TestReturn:
    def test_a_finished_one_goes_back(self, caller: Caller, begin: Any) -> None:
        instance = begin()
        for _ in range(2):
            task = caller("GET", f"/workflows/instances/{instance['id']}/").json()["tasks"][0]["id"]
            ended = command(caller, instance, "complete_task", task=task, variables={}).json()
        assert ended["status"] == "completed"
        back = caller("POST", f"/workflows/instances/{instance['id']}/return/", {"version": 1, "reason": "wrong"})
        assert (back.json()["status"], back.json()["version"]) == ("active", 4)
        assert back.json()["tasks"][0]["element"] == "check"
        newest = caller("GET", f"/workflows/instances/{instance['id']}/versions/4/").json()
        assert newest["parent"] == 1

    def test_a_dry_run_changes_nothing(self, caller: Caller, begin: Any) -> None:
        instance = begin()
        command(caller, instance, "complete_task", task=instance["tasks"][0]["id"], variables={})
        body = {"version": 1, "reason": "wrong", "dry_run": True}
        answer = caller("POST", f"/workflows/instances/{instance['id']}/return/", body).json()
        assert set(answer) == {"cancelled", "restarted", "irrevocable"}
        assert [each["element"] for each in answer["cancelled"]] == ["ship"]
        assert [each["element"] for each in answer["restarted"]] == ["check"]
        assert WorkflowVersion.objects.count() == 2

    def test_an_old_task_is_abandoned(self, caller: Caller, begin: Any) -> None:
        instance = begin()
        task = instance["tasks"][0]["id"]
        moved = command(caller, instance, "complete_task", task=task, variables={}).json()
        caller("POST", f"/workflows/instances/{instance['id']}/return/", {"version": 1, "reason": "wrong"})
        for old in (task, moved["tasks"][0]["id"]):
            answer = command(caller, instance, "complete_task", task=old, variables={})
            assert failed(answer) == (409, "abandoned")

    @pytest.mark.parametrize("body", [{"version": 1}, {"reason": "x"}, {"version": 0, "reason": "x"}])
    def test_a_wrong_body_is_refused(self, caller: Caller, begin: Any, body: Any) -> None:
        answer = caller("POST", f"/workflows/instances/{begin()['id']}/return/", body)
        assert failed(answer) == (400, "invalid")

    def test_a_version_that_is_not_there_is_404(self, caller: Caller, begin: Any) -> None:
        body = {"version": 9, "reason": "x"}
        assert caller("POST", f"/workflows/instances/{begin()['id']}/return/", body).status_code == 404


class TestTasks:
    def test_lists_the_open_ones_of_all(self, caller: Caller, begin: Any) -> None:
        first, second = begin(record="a"), begin(record="b")
        listed = caller("GET", "/workflows/tasks/").json()["results"]
        assert [(each["instance"], each["record"]) for each in listed] == [(first["id"], "a"), (second["id"], "b")]
        assert listed[0]["id"] == first["tasks"][0]["id"]


class TestCases:
    PLAN = case(
        human("survey"), human("mount", manual=True, entry="survey complete"), listener("cancel"), human("bill")
    )

    def test_is_published_and_shows_its_items(self, caller: Caller, begin: Any) -> None:
        published = caller("POST", "/workflows/definitions/", {"source": self.PLAN})
        assert (published.status_code, published.json()["kind"]) == (201, "cmmn")
        instance = begin(self.PLAN.encode())
        assert all(set(item) == {"id", "element", "state"} for item in instance["items"])
        shown = [(item["element"], item["state"]) for item in instance["items"]]
        assert shown[:4] == [("plan", "active"), ("survey", "active"), ("mount", "available"), ("cancel", "available")]
        active = [(each["element"], each["kind"]) for each in instance["active"]]
        assert active == [("plan", "case_plan"), ("survey", "human_task"), ("bill", "human_task")]

    def test_its_items_take_commands(self, caller: Caller, begin: Any) -> None:
        instance = begin(self.PLAN.encode())
        task = instance["tasks"][0]["id"]
        instance = command(caller, instance, "complete_task", task=task, variables={"ok": True}).json()
        answers = [self.give(caller, instance, name, "mount") for name in ("disable", "reenable", "start")]
        states = [self.state(answer.json(), "mount") for answer in answers]
        assert states == ["disabled", "enabled", "active"]
        answers = [self.give(caller, instance, name, "mount") for name in ("suspend_item", "resume_item")]
        assert [self.state(answer.json(), "mount") for answer in answers] == ["suspended", "active"]
        self.give(caller, instance, "terminate_item", "bill")
        ended = self.give(caller, instance, "complete_item", "mount").json()
        assert (ended["status"], self.state(ended, "cancel")) == ("completed", "terminated")
        assert command(caller, instance, "close").json()["status"] == "closed"

    def test_what_an_item_cannot_do_is_told(self, caller: Caller, begin: Any) -> None:
        instance = begin(self.PLAN.encode())
        for name, element in (("start", "survey"), ("occur", "survey"), ("reenable", "mount"), ("resume_item", "plan")):
            assert failed(self.give(caller, instance, name, element)) == (409, "not_possible"), name
        assert failed(command(caller, instance, "occur", item="nobody")) == (409, "not_possible")
        assert failed(command(caller, instance, "occur")) == (400, "invalid")
        assert failed(command(caller, instance, "close")) == (409, "not_possible")

    def test_an_item_of_an_abandoned_branch_is_told_so(self, caller: Caller, begin: Any) -> None:
        instance = begin(self.PLAN.encode())
        assert self.give(caller, instance, "occur", "cancel").status_code == 200
        address = f"/workflows/instances/{instance['id']}/return/"
        assert caller("POST", address, {"version": 1, "reason": "again"}).status_code == 200
        assert failed(self.give(caller, instance, "occur", "cancel")) == (409, "abandoned")

    def give(self, caller: Caller, instance: Any, name: str, element: str) -> Any:
        item = next(each["id"] for each in instance["items"] if each["element"] == element)
        return command(caller, instance, name, item=item)

    def state(self, instance: Any, element: str) -> str:
        return next(str(each["state"]) for each in instance["items"] if each["element"] == element)
