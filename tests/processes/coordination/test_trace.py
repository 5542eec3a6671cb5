import pytest

from config.audit.trace import TraceStep, read_trace
from config.common.correlation import correlated
from tests.processes.coordination.admin.change_set_outcomes import commit, fail
from tests.processes.coordination.in_memory_roles import (
    DATABASES,
    InMemoryRoles,
    make_change_set,
    request_change,
)
from tests.staff import signed_in
from tests.trace_button import find_trace_button

pytestmark = [pytest.mark.django_db(databases=DATABASES), pytest.mark.embedded]


def told(chain: str, permission: str = "coordination.view_appevent") -> list[TraceStep]:
    return [step for step in read_trace(chain, may=permission.__eq__).steps if step.kind == "coordination"]


class TestTraceEvents:
    def test_tells_the_life_of_a_change_set(self) -> None:
        with correlated("the-chain"):
            event = commit(InMemoryRoles())
        made, ended = told("the-chain")
        assert (made.id, made.outcome, ended.outcome) == (event, None, "Committed")
        assert made.at < ended.at
        assert ended.data == {"type": "DummyItemMain.Insert", "payloads": 1, "reason": ""}

    def test_what_is_under_way_has_no_end(self) -> None:
        with correlated("the-chain"):
            make_change_set(request_change("DummyItem", "insert", name="crate"))
        assert [step.outcome for step in told("the-chain")] == [None]

    def test_a_failed_compensation_is_an_outcome(self) -> None:
        with correlated("the-chain"):
            event = fail(InMemoryRoles())
        assert ("CompensationFailed", event) in [(step.outcome, step.id) for step in told("the-chain")]

    def test_only_those_see_it_who_may(self) -> None:
        with correlated("the-chain"):
            commit(InMemoryRoles())
        assert told("the-chain", "sensors.view_sensor") == []
        assert told("another-chain") == []

    def test_its_page_leads_to_it(self) -> None:
        with correlated("the-chain"):
            event = commit(InMemoryRoles())
        button = find_trace_button(signed_in("viewer"), f"/admin/coordination/appevent/{event}/change/")
        assert button == "/admin/trace/?id=the-chain"

    def test_the_trace_page_says_it_in_words(self) -> None:
        with correlated("the-chain"):
            commit(InMemoryRoles())
        page = signed_in("operator").get("/admin/trace/?id=the-chain").content.decode()
        assert "change set" in page
        assert "<strong>committed</strong>" in page
        assert ": insert: created" in page
