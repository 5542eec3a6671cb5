"""The threads of a process: who waits for what, how few queries it takes, and what becomes of those who fall silent."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import OperationalError
from django.db.backends.utils import CursorWrapper

from config.common.background import daemon as daemon_module
from config.common.background.daemon import Daemon
from config.common.background.ring import set_local_wake
from notifications.models import RepeatSession
from notifications.sessions import outcomes as outcomes_module
from notifications.sessions import repeater as module
from notifications.sessions.enqueue import enqueue_session, enqueue_sessions
from notifications.sessions.handlers import SessionView
from notifications.sessions.lifecycle import create_session
from notifications.sessions.operations import Append, Operation
from notifications.sessions.outcomes import record_outcomes
from notifications.sessions.repeater import Repeater
from notifications.sessions.storage import SESSIONS
from tests.faults.wait import wait_until
from tests.notifications.sessions.repeater.held_handler import Held, gone
from tests.notifications.sessions.themes import Scripted, pass_time, theme

pytestmark = [pytest.mark.embedded, pytest.mark.django_db(transaction=True)]

Handle = Callable[[Any], None]


@pytest.fixture
def run(repeater: Repeater) -> Iterator[Callable[[], Daemon]]:
    """Run the repeater on the scheduler's loop, woken by the rings of this process."""
    started: list[Daemon] = []

    def start() -> Daemon:
        daemon = Daemon(repeater.run_once, 10, SESSIONS, repeater.rest)
        started.append(daemon)
        daemon.start()
        set_local_wake(lambda name: daemon.wake() if name == SESSIONS else None)
        return daemon

    yield start
    set_local_wake(lambda name: None)
    for daemon in started:
        daemon.stop()
        repeater._is_stopping = True
        assert daemon.join(60)


class TestTurns:
    def test_a_batch_is_repeated_and_deleted_by_few_statements(
        self, repeater: Repeater, handle_by: Handle, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        statements = count_statements(monkeypatch)
        theme()
        enqueue_sessions(theme=7, sessions=[[n] for n in range(60)], delay=0)
        repeater._pace = 1e-4
        handle_by(lambda session: None)
        statements.clear()
        assert repeater.run_once() is True
        assert wait_until(gone, 60)
        own = [sql for sql in statements if "EXISTS" not in sql and "LIMIT 1" not in sql[-12:]]
        assert len(own) < 30, own

    def test_takes_no_more_than_there_are_free_workers_while_repeats_are_slow(
        self, repeater: Repeater, handle_by: Handle
    ) -> None:
        held = Held()
        theme()
        ids = enqueue_sessions(theme=7, sessions=[[n] for n in range(9)], delay=0)
        handle_by(held)
        repeater.run_once()
        assert all(held.began.acquire(timeout=60) for _ in range(4))
        assert RepeatSession.objects.filter(status="active").count() == 4
        assert sorted(held.seen) == ids[:4]
        held.go_on.set()
        while repeater.run_once():
            pass
        assert wait_until(gone, 60)
        assert sorted(held.seen) == ids

    def test_what_waits_for_a_worker_for_long_is_given_back(
        self, repeater: Repeater, handle_by: Handle, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "LONGEST_WAIT", 0.2)
        held = Held()
        theme()
        enqueue_sessions(theme=7, sessions=[[n] for n in range(20)], delay=0)
        handle_by(held)
        repeater._pace = 1e-4
        repeater.run_once()
        assert RepeatSession.objects.filter(status="active").count() == 20
        assert wait_until(lambda: RepeatSession.objects.filter(status="active").count() == 4, 60)
        assert set(RepeatSession.objects.filter(status="saved").values_list("repeats", flat=True)) == {0}
        held.go_on.set()
        while repeater.run_once():
            pass
        assert wait_until(gone, 60)


class TestWaiting:
    def test_starts_a_session_within_a_tenth_of_a_second_of_its_time(
        self, run: Callable[[], Daemon], handle_by: Handle
    ) -> None:
        """A busy machine may be late by itself: it holds if it holds in one round."""
        began: dict[int, float] = {}
        theme()
        handle_by(lambda session: began.setdefault(session.id, time.time()))
        run()
        time.sleep(0.3)
        enqueue_session(theme=7, records=[], delay=50)
        rounds: list[list[float]] = []
        while not rounds or (max(rounds[-1]) >= 0.1 and len(rounds) < 40):
            rounds.append(self.lateness(began))
        assert max(rounds[-1]) < 0.1, rounds
        assert min(map(min, rounds)) > -0.01, rounds

    def lateness(self, began: dict[int, float]) -> list[float]:
        ids = [enqueue_session(theme=7, records=[n], delay=0.3 + n / 10) for n in range(3)]
        due = {pk: RepeatSession.objects.get(pk=pk).due_at.timestamp() for pk in ids}
        assert wait_until(lambda: began.keys() >= due.keys(), 60)
        return [began[pk] - due[pk] for pk in ids]

    def test_an_earlier_save_is_announced(self, run: Callable[[], Daemon], handle_by: Handle) -> None:
        began = threading.Event()
        theme()
        enqueue_session(theme=7, records=[], delay=3600)
        handle_by(lambda session: began.set())
        run()
        time.sleep(0.3)
        enqueue_session(theme=7, records=[], delay=0)
        assert began.wait(8), "nobody would look again for a minute"

    def test_asks_nothing_while_nothing_is_due_but_looks_once_a_minute(
        self, run: Callable[[], Daemon], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        theme()
        enqueue_session(theme=7, records=[], delay=3600)
        create_session(theme=7, records=[])
        pass_time(-3000)
        statements = count_statements(monkeypatch)
        rests: list[float] = []
        monkeypatch.setattr(daemon_module, "LONGEST_REST", 0.5)  # a minute takes half a second here
        began = time.monotonic()
        daemon = run()
        original = daemon._rest
        daemon._rest = lambda: (rests.append(original()), rests[-1])[1]  # type: ignore[func-returns-value]
        assert wait_until(lambda: len(statements) >= 4, 60), statements
        assert len(statements) <= 1 + (time.monotonic() - began) / 0.5, statements
        assert all("notifications_repeatsession" in sql for sql in statements)
        assert all(rest >= 59 for rest in rests)

    def test_a_save_for_much_later_wakes_nobody(self, run: Callable[[], Daemon]) -> None:
        theme()
        daemon = run()
        time.sleep(0.2)
        woken: list[int] = []
        daemon.wake = lambda: woken.append(1)  # type: ignore[method-assign]
        enqueue_session(theme=7, records=[], delay=61)
        assert woken == []
        enqueue_session(theme=7, records=[], delay=59)
        assert woken == [1]


class TestKeeper:
    def test_an_outcome_that_cannot_be_written_holds_up_no_other(
        self, repeater: Repeater, handle_by: Handle, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        original = record_outcomes

        def record(outcomes: Any) -> set[int]:
            if any(each.claim.records == ["bad"] for each in outcomes):
                raise ValueError
            return original(outcomes)

        monkeypatch.setattr(outcomes_module, "record_outcomes", record)
        theme()
        handle_by(lambda session: None)
        enqueue_sessions(theme=7, sessions=[[1], ["bad"], [2], [3]], delay=0)
        repeater.run_once()
        assert wait_until(lambda: RepeatSession.objects.count() == 1, 60)

    def test_while_the_database_is_away_outcomes_wait(
        self, repeater: Repeater, handle_by: Handle, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        original, away = record_outcomes, [OperationalError("away")] * 2

        def record(outcomes: Any) -> set[int]:
            if away:
                raise away.pop()
            return original(outcomes)

        monkeypatch.setattr(outcomes_module, "record_outcomes", record)
        monkeypatch.setattr(module, "RETRY_SECONDS", 0.05)
        theme()
        handle_by(lambda session: None)
        enqueue_session(theme=7, records=[1], delay=0)
        repeater.run_once()
        assert wait_until(gone, 60)


class TestStop:
    def test_saves_what_does_not_end_again_without_counting_it(self, repeater: Repeater, handle_by: Handle) -> None:
        held = Held()
        theme()
        ids = enqueue_sessions(theme=7, sessions=[[n] for n in range(6)], delay=0)
        places = list(RepeatSession.objects.order_by("id").values_list("due_at", "save_number"))
        handle_by(held)
        repeater._pace = 1e-4
        repeater.run_once()
        assert held.began.acquire(timeout=60)
        repeater.stop(1)
        rows = RepeatSession.objects.order_by("id")
        assert [(row.pk, row.status, row.repeats) for row in rows] == [(pk, "saved", 0) for pk in ids]
        assert list(rows.values_list("due_at", "save_number")) == places, "each keeps its time and its place"
        held.go_on.set()
        time.sleep(0.3)
        assert RepeatSession.objects.count() == 6, "who was told to stop cannot write later"

    def test_a_handler_that_obeys_ends_at_once(self, repeater: Repeater, handle: Handle) -> None:
        class Obedient(Scripted):
            def __init__(self) -> None:
                super().__init__()
                self.told = threading.Event()

            def next_operation(self) -> Operation | None:
                assert self.told.wait(60)
                return Append([2])

            def cancel(self) -> None:
                self.told.set()

        theme()
        enqueue_session(theme=7, records=[1], delay=0)
        handle(Obedient())
        repeater.run_once()
        began = time.monotonic()
        repeater.stop(60)
        assert time.monotonic() - began < 30
        session = RepeatSession.objects.get()
        assert (session.status, session.repeats, session.record_count) == ("saved", 0, 1)

    def test_work_that_ends_in_time_is_kept(self, repeater: Repeater, handle_by: Handle) -> None:
        began = threading.Event()

        def work(session: SessionView) -> None:
            began.set()
            time.sleep(0.3)

        theme()
        enqueue_session(theme=7, records=[1], delay=0)
        handle_by(work)
        repeater.run_once()
        assert began.wait(60)
        repeater.stop(3)
        assert gone()


class TestRace:
    def test_eight_schedulers_repeat_each_session_once(
        self, handle_by: Handle, in_threads: Callable[..., list[None]]
    ) -> None:
        seen: list[int] = []
        theme()
        ids = enqueue_sessions(theme=7, sessions=[[n] for n in range(400)], delay=0)
        handle_by(lambda session: seen.append(session.id))

        def repeat_all(_: int) -> None:
            own = Repeater(workers=3)
            try:
                while RepeatSession.objects.exists():
                    own.run_once() or time.sleep(0.01)  # type: ignore[func-returns-value]
            finally:
                own.stop(5)

        in_threads(repeat_all, 8)
        assert sorted(seen) == ids
        assert gone()


def count_statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect what every thread asks the database."""
    statements: list[str] = []
    original = CursorWrapper.execute

    def execute(self: Any, sql: str, params: Any = None) -> Any:
        statements.append(sql)
        return original(self, sql, params)

    monkeypatch.setattr(CursorWrapper, "execute", execute)
    return statements
