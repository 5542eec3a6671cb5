import os
import signal
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest
from django.db import OperationalError

from notifications.sessions import enqueue
from notifications.sessions.enqueue import GroupCommit, _Asked
from tests.faults.wait import wait_until


class Trips:
    """Round trips that stand still until they are told to go on."""

    def __init__(self) -> None:
        self.made: list[list[int]] = []
        self.go_on = threading.Semaphore(0)
        self.failure: BaseException | None = None
        self.together = GroupCommit(self.make)
        self.answers: dict[int, object] = {}
        self.threads: list[threading.Thread] = []

    def make(self, asked: Sequence[int]) -> list[int]:
        self.made.append(list(asked))
        assert self.go_on.acquire(timeout=60)
        if self.failure is not None:
            raise self.failure
        return [number * 10 for number in asked]

    def ask(self, *numbers: int) -> None:
        """Ask from a thread for each, one after the other, and let them wait."""
        for number in numbers:
            self.threads.append(threading.Thread(target=self._ask, args=[number]))
            self.threads[-1].start()
            assert wait_until(partial(self._has_come, number))

    def _has_come(self, number: int) -> bool:
        return any(number in asked for asked in [*self.made, [each.asked for each in self.together._waiting]])

    def _ask(self, number: int) -> None:
        try:
            self.answers[number] = self.together.ask(number)
        except BaseException as error:  # noqa: BLE001  (the test looks at it)
            self.answers[number] = error

    def finish(self, trips: int) -> dict[int, Any]:
        for _ in range(trips):
            self.go_on.release()
        for thread in self.threads:
            thread.join(60)
            assert not thread.is_alive()
        return self.answers


class TestAsk:
    def test_what_is_asked_meanwhile_goes_together_in_order(self) -> None:
        trips = Trips()
        trips.ask(1, 2, 3, 4)
        assert trips.finish(2) == {1: 10, 2: 20, 3: 30, 4: 40}
        assert trips.made == [[1], [2, 3, 4]]

    def test_one_after_the_other_each_goes_alone(self) -> None:
        trips = Trips()
        for number in (1, 2):
            trips.ask(number)
            trips.finish(1)
        assert trips.made == [[1], [2]]

    def test_is_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("notifications.sessions.enqueue.MOST_AT_ONCE", 2)
        trips = Trips()
        trips.ask(1, 2, 3, 4)
        assert trips.finish(3) == {1: 10, 2: 20, 3: 30, 4: 40}
        assert trips.made == [[1], [2, 3], [4]]

    def test_a_failure_is_that_of_all_who_asked_and_of_nobody_after_them(self) -> None:
        trips = Trips()
        trips.ask(1, 2, 3)
        trips.go_on.release()
        assert wait_until(lambda: len(trips.made) == 2)
        trips.failure = OperationalError("gone")
        answers = trips.finish(1)
        assert answers[1] == 10
        assert isinstance(answers[2], OperationalError)
        assert isinstance(answers[3], OperationalError)
        trips.failure = None
        trips.ask(4)
        assert trips.finish(1)[4] == 40

    def test_who_leads_and_is_interrupted_leaves_no_one_waiting(self) -> None:
        trips = Trips()
        trips.failure = SystemExit()
        trips.ask(1, 2)
        answers = trips.finish(2)
        assert isinstance(answers[1], SystemExit)
        trips.failure = None
        trips.ask(3)
        assert trips.finish(1)[3] == 30

    def test_a_fork_waits_for_nobody_of_its_parent(self, monkeypatch: pytest.MonkeyPatch) -> None:
        trips = Trips()
        shared: Any = enqueue._together
        monkeypatch.setattr(shared, "_made", trips.together)
        monkeypatch.setattr(enqueue, "_insert_for_all", trips.make)
        trips.ask(1)
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(10)
            trips.go_on.release()
            os._exit(0 if shared.get().ask(2) == 20 else 1)
        trips.finish(1)
        assert os.waitpid(child, 0)[1] == 0


class Interrupted:
    """What a thread waits for, when a signal comes: while it still waits, or just as it is to lead."""

    def __init__(self, wait: Callable[[], object]) -> None:
        self._wait = wait

    def acquire(self) -> None:
        self._wait()
        raise KeyboardInterrupt

    def release(self) -> None: ...


class TestWait:
    def test_who_is_interrupted_is_not_served_later(self, monkeypatch: pytest.MonkeyPatch) -> None:
        trips = Trips()
        trips.ask(1)
        interrupt(monkeypatch, lambda asked: None)
        with pytest.raises(KeyboardInterrupt):
            trips.together.ask(2)
        monkeypatch.undo()
        trips.ask(3)
        assert trips.finish(2) == {1: 10, 3: 30}
        assert trips.made == [[1], [3]]

    def test_who_was_to_lead_lets_the_next_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        trips = Trips()
        trips.ask(1)

        def let_others_come(asked: Any) -> None:
            monkeypatch.undo()
            trips.ask(3)
            trips.go_on.release()
            assert wait_until(lambda: asked.leads)

        interrupt(monkeypatch, let_others_come)
        with pytest.raises(KeyboardInterrupt):
            trips.together.ask(2)
        assert trips.finish(1) == {1: 10, 3: 30}
        assert trips.made == [[1], [3]]


def interrupt(monkeypatch: pytest.MonkeyPatch, wait: Callable[[Any], None]) -> None:
    """Interrupt whoever waits from now on."""

    def make(asked: int) -> Any:
        made: Any = _Asked(asked)
        made.news = Interrupted(lambda: wait(made))
        return made

    monkeypatch.setattr("notifications.sessions.enqueue._Asked", make)
