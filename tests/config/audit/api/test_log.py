from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from config.audit.log import NewLogEntry, write_log_entries
from config.common import text_templates
from config.records.models import LogEntry
from tests.sensors.api.callers import Caller, of_client, service
from tests.sensors.registry import make_client
from tests.staff import signed_in

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

NOON = datetime(2026, 5, 6, 12, tzinfo=UTC)
LEVELS = ("info", "warning", "error")


@pytest.fixture
def operator() -> Caller:
    return service("operations")


@pytest.fixture
def entries() -> list[LogEntry]:
    """Six of them, a second apart, of every level in turn."""
    write_log_entries(
        NewLogEntry(LEVELS[n % 3], "exchange", "Step %(n)s", {"n": n}, f"process/{n}", NOON + timedelta(seconds=n))
        for n in range(6)
    )
    return list(LogEntry.objects.order_by("id"))


def texts(caller: Caller, query: str = "") -> list[str]:
    return [entry["text"] for entry in caller("GET", f"/log/{query}").json()["results"]]


class TestLog:
    def test_an_entry_has_the_shape_of_the_contract(self, operator: Caller) -> None:
        write_log_entries(
            [NewLogEntry("error", "file", "Lost %(f)s", {"f": "x"}, "message/1", NOON, "call-0001", "fold", 3)]
        )
        answer = operator("GET", "/log/").json()
        assert answer == {
            "results": [
                {
                    "id": LogEntry.objects.get().pk,
                    "at": "2026-05-06T12:00:00.000Z",
                    "level": "error",
                    "kind": "file",
                    "subject": "message/1",
                    "text": "Lost x",
                    "count": 3,
                    "correlation_id": "call-0001",
                }
            ],
            "next": None,
        }

    @pytest.mark.parametrize(
        ("query", "found"),
        [
            ("", [5, 4, 3, 2, 1, 0]),
            ("?level=warning", [4, 1]),
            ("?text=STEP%203", [3]),
            ("?text=%25", []),
            ("?from=2026-05-06T12:00:04Z", [5, 4]),
            ("?to=2026-05-06T12:00:02.000Z", [1, 0]),
            ("?from=2026-05-06T12:00:02Z&to=2026-05-06T12:00:02Z", []),
            ("?level=info&text=step&from=2026-05-06T12:00:01Z", [3]),
        ],
    )
    def test_lists_what_is_asked_for_newest_first(
        self, operator: Caller, entries: list[LogEntry], query: str, found: list[int]
    ) -> None:
        assert texts(operator, query) == [f"Step {n}" for n in found]

    def test_pages_go_by_time_and_miss_nothing_of_one_moment(self, operator: Caller) -> None:
        moments = [NOON, NOON + timedelta(milliseconds=123), NOON, NOON + timedelta(milliseconds=123), NOON]
        write_log_entries(NewLogEntry("info", "file", f"n{place}", at=at) for place, at in enumerate(moments))
        address, seen = "/log/?limit=2", []
        while address:
            answer = operator("GET", address).json()
            seen += [entry["text"] for entry in answer["results"]]
            address = answer["next"]
        assert seen == ["n3", "n1", "n4", "n2", "n0"]

    def test_a_page_costs_the_same_for_many(
        self, operator: Caller, entries: list[LogEntry], django_assert_num_queries: Any
    ) -> None:
        with django_assert_num_queries(2):  # the key, the page
            texts(operator)

    def test_speaks_the_language_of_the_call(
        self, operator: Caller, entries: list[LogEntry], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(text_templates, "gettext", lambda text: text.replace("Step", "Шаг"))
        assert texts(operator, "?text=step%200") == ["Шаг 0"]

    @pytest.mark.parametrize(
        ("query", "field"),
        [
            ("?level=fatal", "level"),
            ("?text=%20", "text"),
            (f"?text={'x' * 201}", "text"),
            ("?from=yesterday", "from"),
            ("?to=2026-05-06T12:00:00", "to"),
            ("?from=2026-05-07T00:00:00Z&to=2026-05-06T00:00:00Z", "to"),
            ("?limit=0", "limit"),
        ],
    )
    def test_names_what_is_wrong(self, operator: Caller, query: str, field: str) -> None:
        refused = operator("GET", f"/log/{query}")
        assert (refused.status_code, list(refused.json()["data"]["fields"])) == (400, [field])


@pytest.mark.parametrize("path", ["/log/", "/statistics/?by=client"])
class TestAccess:
    def test_other_scopes_are_refused(self, path: str) -> None:
        assert service("history:read", "registry:write")("GET", path).status_code == 403

    def test_a_client_is_refused(self, path: str) -> None:
        assert of_client(make_client())("GET", path).status_code == 403

    def test_nobody_is_refused(self, path: str) -> None:
        assert Caller(None)("GET", path).status_code == 401

    @pytest.mark.parametrize(("group", "status"), [("viewer", 403), ("operator", 200), ("administrator", 200)])
    def test_staff_have_it_by_their_group(self, path: str, group: str, status: int) -> None:
        assert signed_in(group).get(f"/api/v1{path}").status_code == status
