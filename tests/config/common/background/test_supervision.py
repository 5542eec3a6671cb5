import asyncio
import os
import threading
from collections.abc import Iterator

import pytest

from config.common.background import supervision
from config.common.background.supervision import (
    FailureBackoff,
    SupervisedThread,
    set_failure_reporter,
    supervise,
)
from tests.faults.wait import wait_until


@pytest.fixture
def reports() -> Iterator[list[tuple[str, str, int]]]:
    told: list[tuple[str, str, int]] = []
    before = supervision._reporter
    set_failure_reporter(lambda *report: told.append(report))
    yield told
    set_failure_reporter(before)


class Work:
    """Fails so many times, then goes on until it is let go."""

    def __init__(self, failures: int, error: BaseException | None = None) -> None:
        self.failures, self.error = failures, error or RuntimeError("a\0b")
        self.turns = 0
        self.let_go = threading.Event()

    def run(self) -> None:
        self.turns += 1
        if self.turns <= self.failures:
            raise self.error
        self.let_go.wait(60)


class TestSetbacks:
    def test_pauses_grow_up_to_a_limit_and_begin_anew_after_a_steady_run(self) -> None:
        setbacks = FailureBackoff("x", first=1, longest=5)
        assert [setbacks.note(ValueError()) for _ in range(4)] == [1, 2, 4, 5]
        assert setbacks.note(ValueError(), lived=supervision.STEADY_SECONDS) == 1
        assert setbacks.count == 1

    def test_reports_what_keeps_failing(self, reports: list[tuple[str, str, int]]) -> None:
        setbacks = FailureBackoff("x", patience=2)
        for _ in range(3):
            setbacks.note(error := ValueError("a\0b"))
            setbacks.report(error)
        assert reports == [("x", "ValueError: a\ufffdb", 2), ("x", "ValueError: a\ufffdb", 3)]

    def test_a_reporter_that_fails_fails_alone(self) -> None:
        before, asked = supervision._reporter, []

        def fail(*report: object) -> None:
            asked.append(report)
            raise ZeroDivisionError

        set_failure_reporter(fail)
        try:
            setbacks = FailureBackoff("x", patience=1)
            setbacks.note(error := ValueError())
            setbacks.report(error)
        finally:
            set_failure_reporter(before)
        assert len(asked) == 1


class TestSupervisedThread:
    @pytest.mark.parametrize("error", [RuntimeError(), SystemExit(), KeyboardInterrupt(), asyncio.CancelledError()])
    def test_is_started_again_whatever_it_died_of(self, error: BaseException) -> None:
        work = Work(1, error)
        thread = SupervisedThread("x", work.run).start()
        assert wait_until(lambda: work.turns == 2)
        work.let_go.set()
        assert thread.join(60)
        assert work.turns == 2, "one that returns has ended on purpose"

    def test_stops_during_a_pause(self) -> None:
        work = Work(100)
        thread = SupervisedThread("x", work.run).start()
        assert wait_until(lambda: work.turns == 2)
        thread.stop()
        assert thread.join(60)

    def test_is_one_however_often_it_is_started(self) -> None:
        work = Work(0)
        thread = SupervisedThread("x", work.run).start().start()
        assert wait_until(lambda: work.turns == 1)
        thread.start()
        work.let_go.set()
        assert thread.join(60)
        assert work.turns == 1

    @pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
    def test_a_fork_has_its_own(self) -> None:
        read, write = os.pipe()
        work = Work(0)
        thread = SupervisedThread("x", lambda: (os.write(write, b"."), work.run())[1]).start()  # type: ignore[func-returns-value]
        assert os.read(read, 1) == b"."
        child = os.fork()
        if child == 0:
            os._exit(0 if not thread.is_running and thread.start().is_running and os.read(read, 1) == b"." else 1)
        assert os.waitpid(child, 0)[1] == 0
        work.let_go.set()
        assert thread.join(60)


class TestSupervise:
    async def test_awaits_again_what_failed(self) -> None:
        turns = 0

        async def run() -> None:
            nonlocal turns
            turns += 1
            if turns == 1:
                raise RuntimeError

        await supervise("x", run)
        assert turns == 2

    async def test_cancelling_ends_it(self) -> None:
        task = asyncio.create_task(supervise("x", lambda: asyncio.sleep(60)))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
