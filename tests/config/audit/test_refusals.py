import os
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
import time_machine
from django.db import DatabaseError
from django.test import Client as Browser

from config.access.keys import create_key
from config.audit import refusals as module
from config.audit.refusals import flush_refusals, record_early_refusal
from config.common.background.per_process import PerProcess
from config.records.models import LogEntry
from tests.faults.wait import wait_until
from tests.sensors.api.callers import Caller, of_client, service
from tests.sensors.registry import make_client
from tests.staff import signed_in

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


@pytest.fixture(autouse=True)
def _anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_refusals", PerProcess(module._Refusals))


@pytest.fixture(autouse=True)
def _one_minute() -> Iterator[None]:
    """The clock stands, so that no test runs over the end of a minute."""
    with time_machine.travel(datetime(2026, 5, 6, 7, 8, 9, tzinfo=UTC), tick=False):
        yield


def written() -> list[LogEntry]:
    flush_refusals()
    return list(LogEntry.objects.filter(kind="refused").order_by("id"))


def facts() -> list[tuple[str, int, str, str]]:
    data = [entry.data for entry in written()]
    return [(each["method"], each["status"], each["code"], each["caller"]) for each in data]


class TestWhatIsNoted:
    def test_a_call_without_a_key(self) -> None:
        Caller(None)("GET", "/sensors/0xA/", **{"X-Correlation-ID": "call-0001"})
        [entry] = written()
        assert (entry.level, entry.subject) == ("warning", "call/GET /api/v1/sensors/<str:sensor_id>/")
        assert entry.words == ("GET /api/v1/sensors/<str:sensor_id>/ was refused: 401 unauthorized, caller anonymous")

    def test_a_wrong_scope_and_what_is_invalid_or_missing_under_the_beginning_of_the_key(self) -> None:
        key, text = create_key(name="desk", actor="test", scopes=["registry:read"])
        for method, path in (("POST", "/sensors/"), ("GET", "/sensors/?limit=0"), ("GET", "/sensors/none/")):
            Caller(text)(method, path)
        assert sorted(facts()) == [
            ("GET", 400, "invalid", key.prefix),
            ("GET", 404, "sensor_not_found", key.prefix),
            ("POST", 403, "forbidden", key.prefix),
        ]

    def test_a_member_of_staff_by_name(self) -> None:
        signed_in("viewer").get("/api/v1/log/")
        assert facts() == [("GET", 403, "forbidden", "staff:olga")]

    def test_the_key_of_an_inactive_client_by_its_beginning(self) -> None:
        caller = of_client(make_client(active=False))
        caller("GET", "/sensors/")
        [(method, status, code, name)] = facts()
        assert (method, status, code, name[:3]) == ("GET", 403, "forbidden", "pc_")

    def test_a_wrong_key_as_a_stranger_without_a_letter_of_it(self) -> None:
        wrong = "ps_abcdefgh_" + "A" * 43
        Caller(wrong)("GET", "/sensors/")
        [entry] = written()
        assert entry.data["caller"] == "anonymous"
        assert "abcdefgh" not in f"{entry.text}{entry.data}{entry.subject}"

    def test_what_the_caller_sent_is_not_kept(self) -> None:
        service("registry:write")("POST", "/sensors/", {"id": "s3cr3t!", "address": "s3cr3t"})
        [entry] = written()
        assert "s3cr3t" not in f"{entry.text}{entry.data}{entry.subject}"

    def test_neither_what_went_well_nor_unknown_paths(self) -> None:
        service("registry:read")("GET", "/sensors/")
        Caller(None)("GET", "/nothing/here/")
        assert facts() == []

    def test_a_body_too_large_for_the_outermost_layer(self) -> None:
        record_early_refusal("POST", "/api/v1/signals/", 413, "too_large")
        record_early_refusal("POST", "/admin/", 413, "too_large")
        record_early_refusal("GET", "/api/v1/signals/", 503, "busy")
        assert [entry.subject for entry in written()] == ["call/POST /api/v1/signals/"]


class TestFolding:
    def test_equal_ones_of_a_minute_are_one_entry_over_several_writes(self) -> None:
        caller = service("registry:read")
        for path in ("/sensors/a/", "/sensors/b/"):
            caller("GET", path)
        flush_refusals()
        caller("GET", "/sensors/c/")
        [entry] = written()
        assert (entry.count, entry.at) == (3, datetime(2026, 5, 6, 7, 8, 9, tzinfo=UTC))

    def test_another_minute_caller_or_code_is_another_entry(self) -> None:
        first, second = service("registry:read"), service("registry:read")
        first("GET", "/sensors/a/")
        second("GET", "/sensors/a/")
        first("GET", "/sensors/?limit=0")
        with time_machine.travel(datetime(2026, 5, 6, 7, 9, 0, tzinfo=UTC), tick=False):
            first("GET", "/sensors/a/")
        assert [entry.count for entry in written()] == [1, 1, 1, 1]

    def test_past_the_bound_the_rest_shares_one_entry(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "MOST_KINDS", 2)
        for number in range(5):
            record_early_refusal("POST", "/api/v1/signals/", 413, f"code{number}")
        counts = {entry.words[:4]: entry.count for entry in written()}
        assert counts == {"POST": 1, "More": 3}
        assert LogEntry.objects.count() == 3

    def test_a_call_costs_no_statement(self, django_assert_num_queries: Any) -> None:
        with django_assert_num_queries(0):
            Caller(None)("GET", "/sensors/")

    def test_what_two_threads_count_adds_up(self, in_threads: Callable[..., list[Any]]) -> None:
        def count(number: int) -> None:
            for _ in range(500):
                record_early_refusal("POST", "/api/v1/signals/", 413, "x")

        in_threads(count, 2)
        assert [entry.count for entry in written()] == [1000]


@pytest.mark.django_db(transaction=True)
def test_two_processes_that_write_at_once_count_on_one_entry(in_threads: Callable[..., list[Any]]) -> None:
    def count(number: int) -> None:
        mine = module._Refusals()
        for _ in range(20):
            at = datetime(2026, 5, 6, 7, 8, 9, tzinfo=UTC)
            for code in "abc":
                refusal = module.Refusal(at.replace(second=0), "GET", "/x/", 403, code, "anonymous")
                mine.add(refusal, module._Noted(1, at, ""))
            mine.flush()

    in_threads(count, 2)
    assert list(LogEntry.objects.values_list("count", flat=True)) == [40, 40, 40]


class TestFailedWrite:
    def test_is_counted_on_and_written_the_next_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(module, "write_log_entries", _fail)
            Caller(None)("GET", "/sensors/")
            with pytest.raises(DatabaseError):
                flush_refusals()
        Caller(None)("GET", "/sensors/")
        assert [entry.count for entry in written()] == [2]

    def test_does_not_let_the_count_grow_past_its_bound(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "MOST_KINDS", 2)
        monkeypatch.setattr(module, "write_log_entries", _fail)
        for number in range(10):
            record_early_refusal("POST", "/api/v1/signals/", 413, f"code{number}")
            with pytest.raises(DatabaseError):
                flush_refusals()
        assert len(module._refusals.get()._noted) == 3


class TestThread:
    """The thread itself, with the write taken away from the database: its connection would outlive the test."""

    @pytest.fixture(autouse=True)
    def _by_itself(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module._Refusals, "_start", START)
        monkeypatch.setattr(module, "PAUSE_SECONDS", 0.01)
        monkeypatch.setattr(module, "SILENCE_SECONDS", 0.01)

    def test_writes_by_itself_and_tries_again_after_a_failure(self, monkeypatch: pytest.MonkeyPatch) -> None:
        got: list[int] = []

        def fail_first(entries: Any) -> None:
            got.append(sum(entry.count for entry in entries))
            if len(got) == 1:
                raise DatabaseError("away")

        monkeypatch.setattr(module, "write_log_entries", fail_first)
        Browser().get("/api/v1/sensors/")
        assert wait_until(lambda: got == [1, 1])
        Browser().get("/api/v1/sensors/")
        assert wait_until(lambda: got == [1, 1, 1])

    @pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
    def test_a_fork_has_a_thread_of_its_own_and_leaves_the_count_to_its_parent(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        read, write = os.pipe()
        parent = os.getpid()
        told = lambda entries: os.getpid() == parent or os.write(write, _codes(entries))  # noqa: E731
        monkeypatch.setattr(module, "write_log_entries", told)
        record_early_refusal("POST", "/api/v1/signals/", 413, "parents")
        child = os.fork()
        if child == 0:
            record_early_refusal("POST", "/api/v1/signals/", 413, "childs")
            time.sleep(2)
            os._exit(0)
        os.close(write)
        os.waitpid(child, 0)
        assert os.read(read, 100) == b"childs"


START = module._Refusals._start


def _fail(entries: Any) -> None:
    raise DatabaseError("away")


def _codes(entries: Any) -> bytes:
    return ",".join(entry.data["code"] for entry in entries).encode()
