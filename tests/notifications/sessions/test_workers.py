"""A theme that hangs holds its own share: others are repeated beside it as if it were not there."""

import threading
from collections.abc import Callable, Iterator

import pytest

from notifications.models import Alert, RepeatSession, SessionStep, Theme
from notifications.sessions import repeater as module
from notifications.sessions import workers
from notifications.sessions.enqueue import enqueue_sessions
from notifications.sessions.handlers import SessionView, register_handler
from notifications.sessions.repeater import Repeater
from notifications.sessions.workers import MOST_SLOW, ThemeSlots
from tests.faults.wait import wait_until
from tests.notifications.sessions.themes import Scripted, pass_time, theme

pytestmark = [pytest.mark.embedded, pytest.mark.django_db(transaction=True)]

HANGING, HEALTHY = 7, 8
WORKERS = 2


class Hanging:
    """A handler whose receiver does not answer until the test lets it."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.under_way = self.most = 0
        self._lock = threading.Lock()

    def __call__(self, session: SessionView) -> Scripted:
        with self._lock:
            self.under_way += 1
            self.most = max(self.most, self.under_way)
        try:
            assert self.go_on.wait(120)
        finally:
            with self._lock:
                self.under_way -= 1
        return Scripted()


@pytest.fixture
def repeater(monkeypatch: pytest.MonkeyPatch) -> Iterator[Repeater]:
    monkeypatch.setattr(module, "SLOW_SECONDS", 0.05)
    monkeypatch.setattr(module, "LONGEST_WAIT", 0.05)
    made = Repeater(WORKERS)
    yield made
    made.stop(3)


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    """Have a theme that hangs with more sessions than there are workers, all due before those of a healthy one."""
    handler = Hanging()
    register_handler("hanging", handler)
    register_handler("healthy", Scripted())
    theme(HANGING, handler="hanging", timeout=60, delay=0)
    theme(HEALTHY, handler="healthy", timeout=60)
    enqueue_sessions(theme=HANGING, sessions=[[n] for n in range(4 * WORKERS)], delay=0)
    pass_time(5)
    yield handler
    handler.go_on.set()


def run_until(repeater: Repeater, condition: Callable[[], bool]) -> bool:
    def turn() -> bool:
        repeater.run_once()
        return condition()

    return wait_until(turn, 60)


def has_none(number: int) -> bool:
    return not RepeatSession.objects.filter(theme=number).exists()


class TestHangingTheme:
    def test_a_healthy_theme_is_repeated_while_another_hangs(self, repeater: Repeater, hanging: Hanging) -> None:
        # What waits long for a worker on a busy machine is given back, and claimed by a later turn.
        assert run_until(repeater, lambda: hanging.under_way == WORKERS)
        enqueue_sessions(theme=HEALTHY, sessions=[[n] for n in range(20)], delay=0)
        assert run_until(repeater, lambda: has_none(HEALTHY))
        assert hanging.under_way == hanging.most == WORKERS

    def test_its_sessions_go_on_when_it_answers_again(self, repeater: Repeater, hanging: Hanging) -> None:
        assert run_until(repeater, lambda: hanging.under_way == WORKERS)
        assert wait_until(lambda: repeater._slots.slow == WORKERS, 60)
        hanging.go_on.set()
        assert run_until(repeater, lambda: has_none(HANGING))
        assert wait_until(lambda: repeater._slots.slow == 0 and not repeater._slots._under_way, 60)
        assert repeater._threads <= WORKERS

    def test_behind_an_open_breaker_it_has_one_slot(self, repeater: Repeater, hanging: Hanging) -> None:
        Theme.objects.filter(pk=HANGING).update(failures=5, opened_at="2026-01-01T00:00:00Z")
        enqueue_sessions(theme=HEALTHY, sessions=[[n] for n in range(20)], delay=0)
        assert run_until(repeater, lambda: has_none(HEALTHY) and hanging.under_way == 1)
        assert hanging.most == 1
        assert RepeatSession.objects.filter(theme=HANGING, status="active").count() == 1

    def test_a_handler_that_is_given_up_frees_its_slot(self, repeater: Repeater, hanging: Hanging) -> None:
        Theme.objects.filter(pk=HANGING).update(timeout=0.2, delay=50)
        assert run_until(repeater, lambda: SessionStep.objects.filter(what="failed").count() == 4 * WORKERS)
        assert wait_until(lambda: repeater._slots.slow == 0 and not repeater._slots._under_way, 60)
        assert Theme.objects.get(pk=HANGING).failures == 4 * WORKERS
        assert Alert.objects.get(kind="theme.unreachable").subject == f"theme/{HANGING}"


class TestThemeSlots:
    def test_a_theme_has_as_many_as_there_are_workers_and_not_one_more(self) -> None:
        held, one = ThemeSlots(3), Theme(number=1)
        for left in (3, 2, 1):
            assert held.free(1, is_open=False) == left
            held.take(one)
        assert (held.has_room(one), held.full(), held.free(2, is_open=False)) == (False, [1], 3)
        held.give_back(one, was_slow=False)
        assert (held.has_room(one), held.full()) == (True, [])

    def test_many_that_are_set_aside_leave_less_for_each(self) -> None:
        held = ThemeSlots(2)
        for _ in range(MOST_SLOW):
            assert held.free(1, is_open=False) == 2
            held.set_aside()
        assert held.free(1, is_open=False) == workers.OPEN_SLOTS

    def test_no_more_are_set_aside_than_there_may_be(self) -> None:
        held = ThemeSlots(2)
        for _ in range(2 * MOST_SLOW):
            assert held.may_set_aside
            held.set_aside()
        assert not held.may_set_aside
