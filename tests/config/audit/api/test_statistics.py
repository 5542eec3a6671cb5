from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
import time_machine

from config.audit import statistics
from config.audit.api import statistics as api
from config.audit.statistics import BY, register_statistics
from config.common.web.pagination import LARGEST_LIMIT
from tests.sensors.api.callers import Caller, service

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

NOW = datetime(2026, 5, 6, 12, tzinfo=UTC)


@pytest.fixture
def operator() -> Caller:
    return service("operations")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[datetime, datetime]]:
    """Count by device here, and note the periods that were asked for."""
    monkeypatch.setattr(statistics, "_counts", dict(statistics._counts))
    periods: list[tuple[datetime, datetime]] = []

    def count(start: datetime, end: datetime) -> list[Any]:
        periods.append((start, end))
        return [{"id": 2, "name": "b", "messages": 7}, {"id": 1, "name": "a", "messages": 8}]

    register_statistics("device", count)
    return periods


class TestStatistics:
    def test_answers_the_figures_in_order_of_id(self, operator: Caller, asked: list[Any]) -> None:
        query = "by=device&from=2026-05-01T00:00:00Z&to=2026-05-02T00:00:00Z"
        assert operator("GET", f"/statistics/?{query}").json() == {
            "by": "device",
            "from": "2026-05-01T00:00:00.000Z",
            "to": "2026-05-02T00:00:00.000Z",
            "results": [{"id": 1, "name": "a", "messages": 8}, {"id": 2, "name": "b", "messages": 7}],
            "next": None,
        }

    def test_pages_are_of_one_period_to_the_end(self, operator: Caller, asked: list[Any]) -> None:
        with time_machine.travel(NOW, tick=False) as clock:
            page = operator("GET", "/statistics/?by=device&limit=1").json()
            clock.shift(timedelta(hours=1))
            rest = operator("GET", page["next"]).json()
        assert ([row["id"] for row in page["results"] + rest["results"]], rest["next"]) == ([1, 2], None)
        assert asked == [(NOW - timedelta(days=30), NOW)] * 2

    def test_without_a_limit_a_page_is_as_large_as_it_may_be(
        self, operator: Caller, asked: list[Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        register_statistics("device", lambda start, end: [{"id": n, "name": "x"} for n in range(LARGEST_LIMIT + 1)])
        page = operator("GET", "/statistics/?by=device").json()
        assert (len(page["results"]), page["next"] is None) == (LARGEST_LIMIT, False)
        monkeypatch.setattr(api, "PAGE_BYTES", 30)
        assert len(operator("GET", "/statistics/?by=device").json()["results"]) == 1

    def test_ids_that_are_no_numbers_are_paged_too(self, operator: Caller, asked: list[Any]) -> None:
        ids = sorted(UUID(int=n << 100) for n in (3, 200, 17))
        register_statistics("device", lambda start, end: [{"id": each, "name": "x"} for each in ids])
        page = operator("GET", "/statistics/?by=device&limit=2").json()
        rest = operator("GET", page["next"]).json()
        assert [row["id"] for row in page["results"] + rest["results"]] == [str(each) for each in ids]

    def test_a_cursor_of_other_statistics_is_refused(self, operator: Caller, asked: list[Any]) -> None:
        page = operator("GET", "/statistics/?by=device&limit=1").json()
        refused = operator("GET", page["next"].replace("by=device", "by=client"))
        assert (refused.status_code, list(refused.json()["data"]["fields"])) == (400, ["cursor"])

    @pytest.mark.parametrize("by", [by for by in BY if by != "client"])
    def test_what_no_app_counts_is_empty(self, operator: Caller, by: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(statistics, "_counts", {})
        assert operator("GET", f"/statistics/?by={by}").json()["results"] == []

    @pytest.mark.parametrize(
        ("query", "start", "end"),
        [
            ("", NOW - timedelta(days=30), NOW),
            ("&to=2026-03-01T00:00:00Z", datetime(2026, 1, 30, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC)),
            ("&from=2025-05-06T12:00:00Z", NOW - timedelta(days=365), NOW),
        ],
    )
    def test_the_period_is_by_default_the_last_thirty_days(
        self, operator: Caller, asked: list[Any], query: str, start: datetime, end: datetime
    ) -> None:
        with time_machine.travel(NOW, tick=False):
            operator("GET", f"/statistics/?by=device{query}")
        assert asked == [(start, end)]

    @pytest.mark.parametrize(
        ("query", "field"),
        [
            ("", "by"),
            ("by=sensor", "by"),
            ("by=client&from=2020-01-01T00:00:00Z&to=2021-01-01T00:00:00.001Z", "from"),
            ("by=client&from=2020-01-01T00:00:00Z", "from"),
            ("by=client&from=9999-01-01T00:00:00Z", "from"),
            ("by=client&to=0001-01-02T00:00:00Z", "to"),
            ("by=client&from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", "to"),
            ("by=client&from=soon", "from"),
        ],
    )
    def test_names_what_is_wrong(self, operator: Caller, query: str, field: str) -> None:
        refused = operator("GET", f"/statistics/?{query}")
        assert (refused.status_code, refused.json()["code"]) == (400, "invalid")
        assert list(refused.json()["data"]["fields"]) == [field]

    @pytest.mark.parametrize("edge", ["from=0001-01-01T00:00:00Z&to=0001-12-31T00:00:00Z", "to=9999-12-31T23:59:59Z"])
    def test_the_ends_of_time_harm_nothing(self, operator: Caller, edge: str) -> None:
        assert operator("GET", f"/statistics/?by=client&{edge}").json()["results"] == []


class TestRegisterStatistics:
    def test_what_the_contract_does_not_know_is_a_bug_of_the_app(self) -> None:
        with pytest.raises(ValueError, match="sensor: statistics are by one of device"):
            register_statistics("sensor", lambda start, end: [])
