import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from config.common.correlation import correlated
from config.common.errors import Invalid
from notifications.errors import SessionTooLong
from notifications.models import RepeatSession, SessionRecord
from notifications.sessions import enqueue
from notifications.sessions.claims import claim_due, find_nearest_times
from notifications.sessions.enqueue import enqueue_session, enqueue_sessions
from notifications.sessions.lifecycle import create_session
from notifications.sessions.storage import read_records
from tests.notifications.sessions.themes import pass_time, theme
from tests.plans import explain_statements

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


class TestEnqueueSession:
    def test_is_a_session_that_was_created_and_saved(self) -> None:
        theme(delay=30)
        with correlated("the-chain"):
            session = RepeatSession.objects.get(pk=enqueue_session(theme=7, records=[{"a": "ё"}, 2]))
        assert (session.status, session.change, session.repeats, session.record_count) == ("saved", 1, 0, 2)
        assert (session.length, session.correlation_id) == (len('[{"a":"ё"},2]'.encode()), "the-chain")
        assert read_records([session.pk]) == {session.pk: [{"a": "ё"}, 2]}
        assert timedelta(seconds=25) < session.due_at - timezone.now() <= timedelta(seconds=30.1)

    def test_takes_a_delay_of_its_own_and_no_records(self) -> None:
        theme(delay=30)
        session = RepeatSession.objects.get(pk=enqueue_session(theme=7, records=[], delay=0))
        assert (session.record_count, session.length) == (0, 2)
        assert session.due_at <= timezone.now()

    def test_ends_with_the_transaction_around_it(self) -> None:
        theme()
        with transaction.atomic():
            enqueue_session(theme=7, records=[1])
            transaction.set_rollback(True)
        assert not RepeatSession.objects.exists()

    @pytest.mark.parametrize("delay", [float("inf"), float("nan")])
    def test_a_delay_without_end_is_an_error(self, delay: float) -> None:
        theme()
        with pytest.raises((OverflowError, ValueError)):
            enqueue_session(theme=7, records=[], delay=delay)

    def test_an_unknown_theme_is_invalid(self) -> None:
        with pytest.raises(Invalid):
            enqueue_session(theme=7, records=[])

    @pytest.mark.parametrize("records", ["text", {"a": 1}, [object()]])
    def test_what_is_no_list_of_json_is_invalid(self, records: Any) -> None:
        theme()
        with pytest.raises(Invalid):
            enqueue_session(theme=7, records=records)


@pytest.mark.django_db(transaction=True)
class TestEnqueueTogether:
    """Threads that save at the same time share a round trip on PostgreSQL."""

    def test_each_has_its_own_and_the_refused_one_alone_is_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        theme(length_limit=10)
        theme(8, delay=3600)
        trips = slow_trips(monkeypatch)
        wanted = {n: (8 if n % 2 else 7, [n] if n else ["x" * 20]) for n in range(12)}
        with ThreadPoolExecutor(12) as threads:
            calls = {n: threads.submit(save, number, records) for n, (number, records) in wanted.items()}
            answers: dict[int, Any] = {n: call.exception() or call.result() for n, call in calls.items()}
        assert isinstance(answers.pop(0), SessionTooLong)
        found = {row.pk: row for row in RepeatSession.objects.all()}
        records = read_records(list(found))
        assert {n: (found[pk].theme_id, records[pk]) for n, pk in answers.items()} == {n: wanted[n] for n in answers}
        assert {found[pk].correlation_id for n, pk in answers.items()} == {f"chain-of-{wanted[n][1]}" for n in answers}
        assert connection.vendor != "postgresql" or 1 < max(trips) <= 12

    def test_what_the_database_cannot_take_fails_for_its_caller_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        theme()
        slow_trips(monkeypatch)
        with ThreadPoolExecutor(3) as threads:
            calls = [threads.submit(save, number, [1]) for number in (7, 2**70, 7)]
            errors = [type(call.exception()) for call in calls]
        assert errors == [type(None), Invalid, type(None)]
        assert RepeatSession.objects.count() == 2


def save(theme: int, records: list[Any]) -> int:
    try:
        with correlated(f"chain-of-{records}"):
            return enqueue_session(theme=theme, records=records)
    finally:
        connection.close()


def slow_trips(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Make each round trip last long enough for others to come; return how many sessions each had."""
    sizes: list[int] = []
    insert = enqueue._insert

    def insert_slowly(sessions: Any) -> Any:
        sizes.append(len(sessions))
        time.sleep(0.05)
        return insert(sessions)

    monkeypatch.setattr(enqueue, "_insert", insert_slowly)
    return sizes


class TestEnqueueSessions:
    def test_keeps_the_order(self) -> None:
        theme()
        ids = enqueue_sessions(theme=7, sessions=[[n, n] for n in range(30)], delay=0)
        assert ids == sorted(ids)
        numbers = list(RepeatSession.objects.order_by("pk").values_list("save_number", flat=True))
        assert numbers == sorted(numbers)
        assert read_records(ids) == {pk: [n, n] for n, pk in enumerate(ids)}

    def test_is_all_or_none(self) -> None:
        theme(length_limit=10)
        with pytest.raises(SessionTooLong):
            enqueue_sessions(theme=7, sessions=[[1], ["x" * 20], [3]])
        assert not RepeatSession.objects.exists()
        assert not SessionRecord.objects.exists()

    def test_none_is_nothing(self) -> None:
        assert enqueue_sessions(theme=7, sessions=[]) == []


class TestFindNearestTimes:
    def test_nothing_is_due_while_there_is_nothing(self) -> None:
        assert find_nearest_times().nearest is None

    def test_tells_the_nearest_of_both_kinds(self) -> None:
        theme(timeout=20)
        for delay in (50, 10, 30):
            enqueue_session(theme=7, records=[], delay=delay)
        create_session(theme=7, records=[])
        seen = find_nearest_times()
        # SQLite counts days, and is off by some microseconds.
        assert 9 < seen.repeat < 10.001
        assert 19 < seen.lapse < 20.001
        assert seen.nearest == seen.repeat
        pass_time(11)
        assert find_nearest_times().repeat < 0


@pytest.mark.skipif(connection.vendor != "postgresql", reason="about PostgreSQL's planner")
class TestCost:
    def test_a_claim_and_a_look_read_the_index_not_the_table(self) -> None:
        theme()
        enqueue_sessions(theme=7, sessions=[[n] for n in range(3000)], delay=3600)
        enqueue_sessions(theme=7, sessions=[[n] for n in range(20)], delay=0)
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE notifications_repeatsession")
        plans = explain_statements(lambda: (find_nearest_times(), claim_due(8)), about="due_at")
        assert len(plans) == 2
        assert all("using session_to_repeat" in plan for plan in plans), plans
        assert not any("Sort" in plan or "Seq Scan on notifications_repeatsession" in plan for plan in plans), plans
