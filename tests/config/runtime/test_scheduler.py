import threading
import time
from collections.abc import Callable, Iterator

import pytest
from django.db import connection, transaction

from config.common.background import work
from config.common.background.ring import CHANNEL, ring, set_local_wake
from config.common.background.work import BackgroundWork
from config.engines import postgresql
from config.runtime import scheduler as module
from config.runtime.scheduler import Scheduler
from tests.faults.wait import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


EVERY = 600
"""Seconds to the next turn of work that nobody wakes: longer than any wait here."""
LISTENERS = "FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()"


class Kind:
    """Work that notes its turns and may take as long as it likes."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.turns = 0
        self.go_on = threading.Event()
        self.go_on.set()

    def run_once(self) -> bool:
        self.turns += 1
        self.go_on.wait(120)
        return False


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Scheduler]]:
    started: list[tuple[Scheduler, tuple[Kind, ...]]] = []

    def run(*kinds: Kind) -> Scheduler:
        monkeypatch.setattr(work, "_registered", {})
        monkeypatch.setattr(module, "LISTEN_SECONDS", 0.1)
        monkeypatch.setattr(module, "GRACE_SECONDS", 1.0)
        for kind in kinds:
            work.register_work(BackgroundWork(name=kind.name, run_once=kind.run_once, every=EVERY))
        scheduler = Scheduler()
        scheduler.start()
        started.append((scheduler, kinds))
        assert wait_until(lambda: all(kind.turns for kind in kinds), 60)
        return scheduler

    yield run
    for scheduler, kinds in started:
        for kind in kinds:
            kind.go_on.set()
        scheduler.stop()
    set_local_wake(lambda name: None)


@pytest.mark.embedded
class TestScheduler:
    def test_a_slow_kind_of_work_delays_no_other(self, start: Callable[..., Scheduler]) -> None:
        slow, quick = Kind("slow"), Kind("quick")
        slow.go_on.clear()
        scheduler = start(slow, quick)
        before = quick.turns
        scheduler.wake("quick")
        assert wait_until(lambda: quick.turns > before, 60)
        assert slow.turns == 1

    def test_a_ring_in_this_process_wakes_the_work_at_once(self, start: Callable[..., Scheduler]) -> None:
        kind, other = Kind("one"), Kind("other")
        start(kind, other)
        # A listener that connects wakes everyone, once and at its own time: one of the rings is without it.
        assert any(self.ring_wakes(kind) and other.turns == turns for turns in self.turns_of(other, times=3))

    def ring_wakes(self, kind: Kind) -> bool:
        before = kind.turns
        with transaction.atomic():
            ring(kind.name)
        return wait_until(lambda: kind.turns > before, 60)

    def turns_of(self, kind: Kind, *, times: int) -> Iterator[int]:
        for _ in range(times):
            yield kind.turns

    def test_a_ring_for_work_of_a_newer_node_is_ignored(self, start: Callable[..., Scheduler]) -> None:
        kind = Kind("one")
        scheduler = start(kind)
        for turns in self.turns_of(kind, times=3):
            scheduler.wake("unheard")
            if not wait_until(lambda: kind.turns > turns, 0.2):  # noqa: B023
                return
        raise AssertionError("each ring was a turn, and no listener connects so often")

    def test_stops_within_its_grace_even_when_a_kind_hangs(self, start: Callable[..., Scheduler]) -> None:
        kind = Kind("hanging")
        kind.go_on.clear()
        scheduler = start(kind)
        began = time.monotonic()
        scheduler.stop()
        assert time.monotonic() - began < 30


@pytest.mark.skipif(connection.vendor != "postgresql", reason="about LISTEN and NOTIFY")
class TestListening:
    def test_a_ring_of_another_process_wakes_the_work(self, start: Callable[..., Scheduler]) -> None:
        kind = Kind("one")
        start(kind)
        before = self.settle(kind)
        self.notify("one")
        assert wait_until(lambda: kind.turns > before, 60)

    def test_listens_again_after_the_connection_was_cut(self, start: Callable[..., Scheduler]) -> None:
        kind = Kind("one")
        start(kind)
        before = self.settle(kind)
        with postgresql.connect() as own:
            own.execute(f"SELECT pg_terminate_backend(pid) {LISTENERS}")
        assert wait_until(lambda: kind.turns > before, 60), "a new connection wakes everyone: rings may have been lost"
        before = self.settle(kind)
        self.notify("one")
        assert wait_until(lambda: kind.turns > before, 60)

    def test_listens_on_a_new_connection_from_time_to_time(
        self, start: Callable[..., Scheduler], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "RECONNECT_SECONDS", 0.5)
        start(Kind("one"))
        assert wait_until(lambda: self.listeners() == 1, 60)
        with postgresql.connect() as own:
            first = own.execute(f"SELECT pid {LISTENERS}").fetchall()
            assert wait_until(lambda: own.execute(f"SELECT pid {LISTENERS}").fetchall() not in (first, []), 60)

    def notify(self, name: str) -> None:
        with postgresql.connect() as own:
            own.execute("SELECT pg_notify(%s, %s)", [CHANNEL, name])

    def settle(self, kind: Kind) -> int:
        """Wait until the connection is there and has woken everyone, as it does once."""
        assert wait_until(lambda: self.listeners() == 1, 60)
        time.sleep(0.3)
        return kind.turns

    def listeners(self) -> int:
        with postgresql.connect() as own:
            row = own.execute(f"SELECT count(*) {LISTENERS}").fetchone()
        return int(row[0]) if row else 0
