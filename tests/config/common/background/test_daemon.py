import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from django.db import connection
from structlog.testing import capture_logs

from config.common.background import daemon as module
from config.common.background.daemon import Daemon, run_until_signalled
from config.common.correlation import correlation_id
from tests.faults.wait import wait_until

pytestmark = pytest.mark.embedded


class Turns:
    """Counts its turns; the first `busy` of them find work."""

    def __init__(self, busy: int = 0, error: Exception | None = None) -> None:
        self.count = 0
        self.busy = busy
        self.error = error
        self.ids: list[str] = []

    def __call__(self) -> bool:
        self.count += 1
        self.ids.append(correlation_id())
        if self.error:
            raise self.error
        return self.count <= self.busy


@pytest.fixture
def run() -> Iterator[Callable[..., Daemon]]:
    started: list[Daemon] = []

    def start(run_once: Callable[[], bool], every: float = 10.0) -> Daemon:
        daemon = Daemon(run_once, every, "test")
        daemon.start()
        started.append(daemon)
        return daemon

    yield start
    for daemon in started:
        daemon.stop()
        assert daemon.join(60)


class TestDaemon:
    def test_turns_until_there_is_no_work_then_sleeps(self, run: Callable[..., Daemon]) -> None:
        turns = Turns(busy=3)
        run(turns)
        assert wait_until(lambda: turns.count == 4)
        time.sleep(0.1)
        assert turns.count == 4

    def test_looks_again_after_its_longest_sleep(self, run: Callable[..., Daemon]) -> None:
        turns = Turns()
        run(turns, every=0.05)
        assert wait_until(lambda: turns.count >= 3)

    def test_never_sleeps_longer_than_ten_seconds(self) -> None:
        assert Daemon(Turns(), 3600, "test")._every == 10

    def test_gathers_what_is_rung_for(self) -> None:
        turns = Turns()
        daemon = Daemon(turns, 10, "test", gather=0.3)
        daemon.start()
        began = time.monotonic()
        while time.monotonic() - began < 0.5:
            daemon.wake()
            time.sleep(0.005)
        assert turns.count <= 2 + (time.monotonic() - began) / 0.3
        assert wait_until(lambda: turns.count >= 2)
        daemon.stop()
        assert daemon.join(60)

    def test_rests_as_long_as_the_work_says(self) -> None:
        turns, rests = Turns(), iter([0.05, 0.05, 3600])
        daemon = Daemon(turns, 10, "test", lambda: next(rests))
        daemon.start()
        assert wait_until(lambda: turns.count == 3)
        time.sleep(0.2)
        assert turns.count == 3
        daemon.wake()
        daemon.stop()
        assert daemon.join(60)

    def test_never_rests_longer_than_a_minute(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert module.LONGEST_REST == 60
        monkeypatch.setattr(module, "LONGEST_REST", 0.05)
        turns = Turns()
        daemon = Daemon(turns, 10, "test", lambda: 3600.0)
        daemon.start()
        assert wait_until(lambda: turns.count >= 3)
        daemon.stop()
        assert daemon.join(60)

    def test_wakes_at_once(self, run: Callable[..., Daemon]) -> None:
        turns = Turns()
        daemon = run(turns)
        assert wait_until(lambda: turns.count == 1)
        began = time.monotonic()
        daemon.wake()
        assert wait_until(lambda: turns.count == 2)
        assert time.monotonic() - began < 8

    def test_a_ring_during_a_turn_is_not_slept_through(self, run: Callable[..., Daemon]) -> None:
        inside, go_on, turns = threading.Event(), threading.Event(), Turns()

        def slow() -> bool:
            inside.set()
            go_on.wait(60)
            return turns()

        daemon = run(slow)
        assert inside.wait(60)
        daemon.wake()
        go_on.set()
        assert wait_until(lambda: turns.count == 2)

    def test_every_turn_has_an_id_of_its_own(self, run: Callable[..., Daemon]) -> None:
        turns = Turns(busy=2)
        run(turns)
        assert wait_until(lambda: turns.count == 3)
        assert len(set(turns.ids)) == 3
        assert "" not in turns.ids

    def test_an_error_is_logged_and_answered_with_a_pause(
        self, run: Callable[..., Daemon], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "FIRST_PAUSE", 0.02)
        turns = Turns(error=ValueError("boom"))
        with capture_logs() as logs:
            daemon = run(turns)
            assert wait_until(lambda: turns.count == 3)
            daemon.stop()
        failed = [line for line in logs if line["event"] == "supervision.failed"]
        assert [line["pause_seconds"] for line in failed[:3]] == [0.02, 0.04, 0.08]

    def test_a_ring_does_not_cut_the_pause_after_an_error_short(self, run: Callable[..., Daemon]) -> None:
        turns = Turns(error=ValueError("boom"))
        daemon = run(turns)
        assert wait_until(lambda: turns.count == 1)
        daemon.wake()
        time.sleep(0.2)
        assert turns.count == 1

    def test_success_resets_the_pause(self, run: Callable[..., Daemon], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "FIRST_PAUSE", 0.02)
        turns = Turns(error=ValueError("boom"))
        daemon = run(turns)
        assert wait_until(lambda: turns.count == 2)
        turns.error = None
        daemon.wake()
        assert wait_until(lambda: daemon._backoff.pause == 0.02)

    def test_stops_promptly_while_it_sleeps(self, run: Callable[..., Daemon]) -> None:
        turns = Turns()
        daemon = run(turns)
        assert wait_until(lambda: turns.count == 1)
        began = time.monotonic()
        daemon.stop()
        assert daemon.join(60)
        assert time.monotonic() - began < 8

    @pytest.mark.django_db(transaction=True)
    def test_a_connection_that_broke_is_replaced(
        self, run: Callable[..., Daemon], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "FIRST_PAUSE", 0.02)
        answers: list[int] = []

        def ask() -> bool:
            with connection.cursor() as cursor:
                if not answers:
                    answers.append(0)
                    connection.connection.close()
                cursor.execute("SELECT 1")
                answers.append(cursor.fetchone()[0])
            return False

        run(ask)
        assert wait_until(lambda: answers == [0, 1])

    @pytest.mark.django_db
    def test_leaves_the_connection_of_a_caller_inside_a_transaction(self) -> None:
        turns = Turns()
        daemon = Daemon(turns, 1, "test")
        threading.Timer(0.1, daemon.stop).start()
        daemon.run()
        assert turns.count == 1
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")


PROGRAM = """
import sys, time
import django
django.setup()
from config.common.background.daemon import Daemon, run_until_signalled
def turn():
    print("turn", flush=True)
    return False
run_until_signalled(Daemon(turn, 1, "one"))
print("stopped", flush=True)
"""


class TestRunUntilSignalled:
    @pytest.mark.slow
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_a_signal_stops_the_loops_and_returns(self, number: signal.Signals) -> None:
        process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True, env=os.environ)
        assert process.stdout is not None
        with process.stdout:
            assert process.stdout.readline() == "turn\n"
            process.send_signal(number)
            assert process.stdout.read().splitlines()[-1] == "stopped"
            assert process.wait(60) == 0

    @pytest.mark.slow
    def test_a_pause_of_the_process_is_no_signal(self) -> None:
        process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True, env=os.environ)
        assert process.stdout is not None
        with process.stdout:
            assert process.stdout.readline() == "turn\n"
            process.send_signal(signal.SIGSTOP)
            time.sleep(1.5)
            process.send_signal(signal.SIGCONT)
            assert process.stdout.readline() == "turn\n"
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(1)
            process.terminate()
            assert process.stdout.read().splitlines()[-1] == "stopped"
            assert process.wait(60) == 0

    def test_a_loop_that_is_gone_fails_the_process(self) -> None:
        def leave() -> bool:
            brief.stop()
            return False

        brief = Daemon(leave, 1, "brief")
        with pytest.raises(RuntimeError, match="The loop of brief has ended"):
            run_until_signalled(brief)

    def test_a_loop_outlives_what_would_end_its_thread(self) -> None:
        turns: list[int] = []

        def leave() -> bool:
            turns.append(1)
            if len(turns) == 1:
                raise SystemExit
            brief.stop()
            return False

        brief = Daemon(leave, 1, "brief")
        brief.start()
        assert brief.join(60)
        assert len(turns) == 2
