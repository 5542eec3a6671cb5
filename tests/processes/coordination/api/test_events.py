import pytest

from config.common.correlation import correlated
from notifications.models import Alert
from processes.coordination.models import AppEvent
from processes.coordination.models.writer import DummyItem
from processes.coordination.protocol.reasons import LONGEST
from processes.coordination.protocol.statuses import EventStatus
from processes.coordination.reader import models as reader
from tests.processes.coordination.in_memory_roles import (
    DATABASES,
    InMemoryRoles,
    make_change_set,
    request_change,
    rows_of,
    status_of,
)
from tests.sensors.api.callers import Caller, service

pytestmark = [pytest.mark.django_db(databases=DATABASES), pytest.mark.embedded]
PATH = "/coordination/events/"


@pytest.fixture
def call() -> Caller:
    return service("coordination")


class TestEvent:
    def test_tells_all_of_a_committed_event(self, call: Caller) -> None:
        made = make_change_set(*(request_change("DummyItem", "insert", name=f"n{n}") for n in range(12)))
        InMemoryRoles().settle()
        shown = call("GET", f"{PATH}{made.event}/").json()
        assert (shown["type"], shown["status"]) == ("DummyItemMain.Insert", "Committed")
        assert shown["payloads"] == {"total": 12, "processed": 12}
        (main,) = shown["readers"]
        assert (main["name"], main["verdict"], main["reason"]) == ("main", "committed", "")
        assert main["lag_seconds"] >= 0
        numbers = [step["step"] for step in shown["steps"]]
        assert numbers == [*(str(n) for n in range(1, 34) if str(n) in numbers), *(f"34.{n}" for n in range(1, 8))]
        assert {"1", "2", "3", "14", "28", "33"} <= set(numbers)

    def test_waits_for_its_readers_before_it_is_activated(self, call: Caller) -> None:
        made = make_change_set(request_change("DummyItem", "insert", name="x"))
        shown = call("GET", f"{PATH}{made.event}/").json()
        assert (shown["status"], shown["readers"][0]["verdict"]) == ("Created", "waiting")

    def test_the_steps_are_those_of_the_contract(self, call: Caller) -> None:
        """What the Coordinator notes beside them is for its own page."""
        made = make_change_set(request_change("DummyItem", "insert", name="x"))
        AppEvent.objects.filter(pk=made.event).update(steps={"1": "2026-01-01T00:00:00.000Z", "waits": "2026"})
        assert [step["step"] for step in call("GET", f"{PATH}{made.event}/").json()["steps"]] == ["1"]

    def test_has_the_correlation_id_of_the_call(self, call: Caller) -> None:
        with correlated("my-own-chain"):
            event = call("POST", "/coordination/writer/dummy-items/", {"name": "x"}).json()["event"]
        assert call("GET", f"{PATH}{event}/").json()["correlation_id"] == "my-own-chain"


class TestEvents:
    def test_lists_the_newest_first_page_by_page(self, call: Caller) -> None:
        made = [make_change_set(request_change("DummyItem", "insert", name="x")).event for _ in range(3)]
        first = call("GET", f"{PATH}?limit=2").json()
        second = call("GET", first["next"]).json()
        assert [each["id"] for each in first["results"] + second["results"]] == made[::-1]

    def test_filters_by_every_status_as_it_shows_it(self, call: Caller) -> None:
        roles = InMemoryRoles()
        make_change_set(request_change("DummyItem", "insert", name="x"))
        seen: set[str] = set()
        while "Committed" not in seen:
            for role in roles.all:
                role.run_once()
                (shown,) = call("GET", PATH).json()["results"]
                found = call("GET", f"{PATH}?status={shown['status']}").json()["results"]
                assert [each["id"] for each in found] == [shown["id"]]
                seen.add(shown["status"])
        assert {"Created", "Saving", "Activated", "Preparing", "Prepared", "Committed"} <= seen

    def test_an_unknown_status_is_named(self, call: Caller) -> None:
        assert list(call("GET", f"{PATH}?status=Lost").json()["data"]["fields"]) == ["status"]


def same() -> bool:
    return rows_of(DummyItem, using="default") == rows_of(reader.TABLES["DummyItem"], using="reader_main")


class TestResolve:
    @pytest.fixture
    def failed(self) -> tuple[int, list[int]]:
        """Two rows that the reader refuses, of which one was changed since: return the event and the rows."""
        roles = InMemoryRoles()
        first = make_change_set(
            request_change("DummyItem", "insert", name="a"), request_change("DummyItem", "insert", name="b")
        )
        reader.TABLES["DummyItem"].objects.using("reader_main").create(
            id=first.ids[0], name="in the way", correlation_id="00000000-0000-0000-0000-000000000001"
        )
        later = make_change_set(request_change("DummyItem", "update", first.ids[0], name="c"))
        roles.settle(lambda: status_of(later.event) == EventStatus.COMMITTED)
        assert status_of(first.event) == EventStatus.COMPENSATION_FAILED
        return first.event, first.ids

    def test_a_reason_is_at_most_so_long(self, call: Caller, failed: tuple[int, list[int]]) -> None:
        body = {"action": "retry", "reason": "x" * (LONGEST + 1)}
        answer = call("POST", f"{PATH}{failed[0]}/resolve/", body)
        assert (answer.status_code, list(answer.json()["data"]["fields"])) == (400, ["reason"])

    def test_only_a_failed_compensation_can_be_resolved(self, call: Caller) -> None:
        made = make_change_set(request_change("DummyItem", "insert", name="x"))
        answer = call("POST", f"{PATH}{made.event}/resolve/", {"action": "retry", "reason": "try"})
        assert (answer.status_code, answer.json()["code"]) == (409, "not_failed")

    def test_a_retry_that_fails_again_says_why(self, call: Caller, failed: tuple[int, list[int]]) -> None:
        answer = call("POST", f"{PATH}{failed[0]}/resolve/", {"action": "retry", "reason": "try"})
        assert (answer.status_code, answer.json()["code"]) == (409, "still_failing")
        assert "has since been changed" in answer.json()["data"]["reason"]
        assert status_of(failed[0]) == EventStatus.COMPENSATION_FAILED

    def test_a_retry_takes_the_rows_back(self, call: Caller, failed: tuple[int, list[int]]) -> None:
        DummyItem.objects.filter(pk__in=failed[1]).update(last_event_id=failed[0])
        answer = call("POST", f"{PATH}{failed[0]}/resolve/", {"action": "retry", "reason": "try"})
        assert (answer.status_code, answer.json()["status"]) == (200, "Canceled")
        assert not DummyItem.objects.exists()

    def test_accepting_tells_the_readers_what_stands(self, call: Caller, failed: tuple[int, list[int]]) -> None:
        assert not same()
        answer = call("POST", f"{PATH}{failed[0]}/resolve/", {"action": "accept", "reason": "it is right"})
        assert (answer.status_code, answer.json()["status"]) == (200, "Canceled")
        InMemoryRoles().settle()
        assert same()
        assert AppEvent.objects.get(pk=failed[0]).resolution == "it is right"
        assert not Alert.objects.filter(kind="coordination.compensation").exclude(status="resolved").exists()

    @pytest.mark.parametrize(("body", "field"), [({"action": "retry"}, "reason"), ({"reason": "x"}, "action")])
    def test_needs_an_action_and_a_reason(self, call: Caller, body: dict[str, str], field: str) -> None:
        made = make_change_set(request_change("DummyItem", "insert", name="x"))
        answer = call("POST", f"{PATH}{made.event}/resolve/", body)
        assert (answer.status_code, list(answer.json()["data"]["fields"])) == (400, [field])


class TestBytes:
    def test_a_page_ends_when_readers_and_steps_weigh_enough(
        self, call: Caller, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        events = [make_change_set(request_change("DummyItem", "insert", name="x")).event for _ in range(3)]
        monkeypatch.setattr("config.common.web.pagination.PAGE_BYTES", 100)
        seen, path = [], PATH
        while path:
            found = call("GET", path).json()
            seen.append([row["id"] for row in found["results"]])
            path = found["next"]
        assert seen == [[event] for event in reversed(events)]
