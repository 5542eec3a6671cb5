from typing import Any

import pytest

from processes.workflows.api.batch_shapes import MOST_NAMED
from processes.workflows.models import WorkflowBatch
from processes.workflows.services.batches import create
from processes.workflows.services.batches.run import run_due_batches
from tests.processes.workflows.api.calls import NOBODY, command, failed
from tests.sensors.api.callers import Caller, service

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

BATCHES = "/workflows/batches/"


def ask(caller: Caller, operation: str = "terminate", **body: Any) -> Any:
    chosen: dict[str, Any] = {} if "instances" in body else {"filter": {}}
    return caller("POST", BATCHES, {"operation": operation, **chosen, **body})


class TestFilters:
    def test_the_list_takes_them_all(self, caller: Caller, begin: Any) -> None:
        first = begin(record="A", variables={"city": "Bern", "n": 1})
        begin(record="B", variables={"city": "Bern", "n": 2})
        command(caller, first, "suspend")

        def found(query: str) -> list[str]:
            return [each["record"] for each in caller("GET", f"/workflows/instances/?{query}").json()["results"]]

        assert found("variable=city%3DBern") == ["B", "A"]
        assert found("variable=city%3DBern&variable=n%3D2") == ["B"]
        assert found("definition=order&revision=1&element=check&status=suspended") == ["A"]
        assert found("element=ship") == found("incident=nothing") == found("started_before=2020-01-01T00:00:00Z") == []
        assert found("started_after=2020-01-01T00:00:00Z") == ["B", "A"]

    @pytest.mark.parametrize(
        "query",
        ["revision=1", "incident=ab", "variable=x", "started_after=yesterday", "&".join(["variable=a%3D1"] * 6)],
    )
    def test_what_no_index_answers_is_refused(self, caller: Caller, query: str) -> None:
        assert failed(caller("GET", f"/workflows/instances/?{query}")) == (400, "invalid")


class TestBatches:
    def test_a_dry_run_is_carried_out_and_undone(self, caller: Caller, begin: Any) -> None:
        first, second = begin(record="A"), begin(record="B")
        command(caller, second, "suspend")
        made = ask(caller, "suspend", filter={"definition": "order"}, dry_run=True)
        assert made.status_code == 201
        assert (made.json()["status"], made.json()["total"]) == ("checking", 2)
        one = f"{BATCHES}{made.json()['id']}/"
        run_due_batches()
        checked = caller("GET", one).json()
        assert (checked["status"], checked["changed"], checked["refused"]) == ("checked", 1, 1)
        refusal = {
            "status": "refused",
            "reason": "The instance is suspended.",
            "count": 1,
            "examples": [second["id"]],
        }
        assert refusal in checked["outcomes"]
        assert caller("POST", f"{one}run/").json()["status"] == "running"
        assert failed(caller("POST", f"{one}run/")) == (409, "not_possible")
        run_due_batches()
        changed = caller("GET", f"{one}instances/?status=changed").json()["results"]
        assert changed == [{"instance": first["id"], "status": "changed", "reason": "", "before": 1, "after": 2}]
        assert caller("POST", f"{one}undo/", {"reason": "too early"}).json()["status"] == "undoing"
        run_due_batches()
        undone = caller("GET", one).json()
        assert (undone["status"], undone["undone"], undone["kept"]) == ("undone", 1, 0)
        assert [batch["id"] for batch in caller("GET", BATCHES).json()["results"]] == [undone["id"]]
        assert caller("GET", f"/workflows/instances/{first['id']}/").json()["status"] == "active"

    def test_a_filter_without_a_status_means_what_has_not_ended(self, caller: Caller, begin: Any) -> None:
        command(caller, begin(), "terminate")
        begin()
        assert ask(caller, filter={"definition": "order"}).json()["total"] == 1
        assert ask(caller, filter={"status": "terminated"}).json()["total"] == 1

    def test_instances_may_be_named(self, caller: Caller, begin: Any) -> None:
        one, _ = begin(), begin()
        answer = ask(caller, "set_variables", instances=[one["id"], NOBODY], variables={"x": 1}).json()
        assert (answer["total"], answer["parameters"], answer["filter"]) == (
            1,
            {"variables": {"x": 1}},
            {"instances": 2},
        )

    def test_so_many_may_be_named(self, caller: Caller) -> None:
        assert ask(caller, instances=[NOBODY] * MOST_NAMED).status_code == 201
        assert failed(ask(caller, instances=[NOBODY] * (MOST_NAMED + 1))) == (400, "invalid")

    @pytest.mark.parametrize(
        "body",
        [
            {"operation": "explode"},
            {"operation": "terminate", "variables": {"x": 1}},
            {"operation": "set_variables"},
            {"operation": "migrate"},
            {"operation": "terminate", "instances": [NOBODY]},
            {"operation": "terminate", "filter": {"color": "red"}},
            {"operation": "terminate", "filter": None},
        ],
    )
    def test_what_is_not_understood_is_refused(self, caller: Caller, body: dict[str, Any]) -> None:
        assert failed(caller("POST", BATCHES, {"filter": {}, **body})) == (400, "invalid")
        assert not WorkflowBatch.objects.exists()

    def test_too_much_at_once_is_refused(self, caller: Caller, begin: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        begin()
        with monkeypatch.context() as patch:
            patch.setattr(create, "MOST_INSTANCES", 0)
            assert failed(ask(caller)) == (409, "too_many_instances")
        monkeypatch.setattr(create, "MOST_UNDER_WAY", 1)
        assert ask(caller).status_code == 201
        assert failed(ask(caller)) == (409, "too_many_batches")
        run_due_batches()
        monkeypatch.setattr(create, "MOST_BATCHES", 1)
        assert failed(ask(caller)) == (409, "too_many_batches")

    def test_whoever_may_only_read_changes_nothing(self, caller: Caller, begin: Any) -> None:
        begin()
        one = f"{BATCHES}{ask(caller, dry_run=True).json()['id']}/"
        reader = service("workflows:read")
        assert reader("GET", one).status_code == reader("GET", f"{one}instances/").status_code == 200
        for address in (BATCHES, f"{one}run/", f"{one}undo/"):
            assert failed(reader("POST", address, {"operation": "terminate", "filter": {}})) == (403, "forbidden")
        assert service("registry:read")("GET", BATCHES).status_code == 403

    def test_one_that_is_not_there_is_404(self, caller: Caller) -> None:
        for method, rest in (("GET", ""), ("GET", "instances/"), ("POST", "run/"), ("POST", "undo/")):
            assert failed(caller(method, f"{BATCHES}{NOBODY}/{rest}", {} if rest == "undo/" else None)) == (
                404,
                "batch_not_found",
            )
