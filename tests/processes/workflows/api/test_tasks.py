"""The calls about tasks of people."""

from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client

from tests.processes.workflows.api.calls import NOBODY, ORDER, failed
from tests.processes.workflows.process_files import chain
from tests.sensors.api.callers import Caller, service
from tests.staff import member_of

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

OFFERED = chain(
    "offered",
    (
        "look",
        '<userTask id="look" name="Look" postern:candidateGroups="Sales" postern:dueDate="=due"'
        ' postern:priority="=priority"/>',
    ),
)


@pytest.fixture
def begun(begin: Any) -> Any:
    begin(ORDER, record="plain")
    begin(OFFERED, record="late", variables={"due": "2031-01-01", "priority": 50, "customer": "Acme"})
    begin(OFFERED, record="soon", variables={"due": "2030-01-01", "priority": 50})
    return begin(OFFERED, record="soon and high", variables={"due": "2030-01-01", "priority": 60})


def listed(caller: Caller, query: str = "") -> list[str]:
    return [each["record"] for each in caller("GET", f"/workflows/tasks/{query}").json()["results"]]


class TestList:
    def test_has_whose_they_are(self, caller: Caller, begun: Any) -> None:
        task = caller("GET", "/workflows/tasks/").json()["results"][1]
        assert {name: task[name] for name in ("assignee", "owner", "candidate_users", "candidate_groups")} == {
            "assignee": "",
            "owner": "",
            "candidate_users": [],
            "candidate_groups": ["Sales"],
        }
        assert (task["due_at"], task["follow_up_at"], task["priority"]) == ("2031-01-01T00:00:00.000Z", None, 50)

    @pytest.mark.parametrize(
        ("query", "found"),
        [
            ("", ["plain", "late", "soon", "soon and high"]),
            ("?candidate_group=Sales", ["soon and high", "soon", "late"]),
            ("?candidate_group=Sales&due_before=2030-06-01T00:00:00Z", ["soon and high", "soon"]),
            ("?definition=order", ["plain"]),
            ("?record=late", ["late"]),
            ("?q=customer%3Dacme", ["late"]),
            ("?q=look+soon", ["soon and high", "soon"]),
            ("?assignee=anna", []),
        ],
    )
    def test_filters(self, caller: Caller, begun: Any, query: str, found: list[str]) -> None:
        assert listed(caller, query) == found

    def test_goes_on_by_due_date(self, caller: Caller, begun: Any) -> None:
        page = caller("GET", "/workflows/tasks/?candidate_group=Sales&limit=2").json()
        rest = caller("GET", page["next"].partition("/api/v1")[2]).json()["results"]
        assert [each["record"] for each in page["results"] + rest] == ["soon and high", "soon", "late"]


class TestChange:
    def call(self, caller: Caller, task: str, verb: str, body: Any = None) -> Any:
        return caller("POST", f"/workflows/tasks/{task}/{verb}/", body)

    def test_a_key_assigns_and_gives_back(self, caller: Caller, begun: Any) -> None:
        member_of("viewer", "anna")
        member_of("viewer", "bob")
        task = begun["tasks"][0]["id"]
        assert self.call(caller, task, "claim", {"assignee": "anna"}).json()["assignee"] == "anna"
        assert listed(caller, "?assignee=anna") == ["soon and high"]
        assert "soon and high" not in listed(caller, "?candidate_group=Sales")
        taken = self.call(caller, task, "claim", {"assignee": "bob"})
        assert (failed(taken), taken.json()["data"]) == ((409, "task_taken"), {"assignee": "anna"})
        assert self.call(caller, task, "assign", {"assignee": "bob"}).json()["assignee"] == "bob"
        assert self.call(caller, task, "unclaim").json()["assignee"] == ""
        assert caller("GET", f"/workflows/instances/{begun['id']}/").json()["version"] == begun["version"]

    def test_what_is_left_out_stays(self, caller: Caller, begun: Any) -> None:
        task = begun["tasks"][0]["id"]
        changed = self.call(caller, task, "set", {"follow_up_at": "2029-01-01T00:00:00Z", "priority": 1}).json()
        assert (changed["due_at"], changed["priority"]) == ("2030-01-01T00:00:00.000Z", 1)
        assert changed["follow_up_at"] == "2029-01-01T00:00:00.000Z"
        assert self.call(caller, task, "set", {"due_at": None}).json()["due_at"] is None

    def test_staff_claim_for_themselves_as_candidates(self, begun: Any) -> None:
        browser = Client()
        person = member_of("viewer", "vera")
        browser.force_login(person)
        address = f"/api/v1/workflows/tasks/{begun['tasks'][0]['id']}/claim/"
        assert browser.post(address, {}, "application/json").status_code == 403
        person.groups.add(Group.objects.create(name="Sales"))
        assert browser.post(address, {}, "application/json").json()["assignee"] == "vera"

    def test_refusals(self, caller: Caller, begun: Any) -> None:
        task = begun["tasks"][0]["id"]
        reader = service("workflows:read")
        assert failed(self.call(reader, task, "claim", {"assignee": "anna"})) == (403, "forbidden")
        assert failed(self.call(caller, task, "claim", {})) == (400, "invalid")
        assert failed(self.call(caller, task, "assign", {"assignee": "ghost"})) == (400, "invalid")
        assert failed(self.call(caller, task, "set", {"priority": 40_000})) == (400, "invalid")
        assert failed(self.call(caller, f"{NOBODY}.0.1", "unclaim")) == (404, "task_not_found")
        assert failed(self.call(caller, "nothing", "unclaim")) == (404, "task_not_found")
        assert failed(self.call(caller, f"{task}0", "unclaim")) == (409, "abandoned")
