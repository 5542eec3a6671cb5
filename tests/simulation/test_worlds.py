"""Whatever the seed, nobody outside finds anything wrong; a seed that does is shrunk, and its story told."""

import os
import time
from collections.abc import Callable, Iterator

import pytest
from django.db import connection

from tests.faults.database_copy import DatabaseCopy, copy_database
from tests.simulation.nature import Nature, draw_nature
from tests.simulation.run import Plan, Result, shrink, simulate, tell
from tests.simulation.scheduler import Scheduler, Stuck
from tests.simulation.world import World
from tests.simulation.worlds import WORLDS

DRILL_SEEDS = 1000
IS_LONG = float(os.environ.get("DRILL_SCALE", "0")) >= 1 or "SIMULATION_SECONDS" in os.environ
SIZE = 6
_clock = time.monotonic  # the simulation has its own

pytestmark = [
    pytest.mark.embedded,
    pytest.mark.slow,
    pytest.mark.timeout(0 if IS_LONG else 300),
    pytest.mark.django_db(transaction=True, databases=["default", "reader_main"]),
]


@pytest.fixture
def database() -> Iterator[DatabaseCopy]:
    if connection.vendor != "sqlite":
        pytest.skip("the borders of the simulation are those of SQLite")
    copy = copy_database()
    yield copy
    copy.close()


def choose_seeds(world: type[World]) -> Iterator[int]:
    """Yield the seeds of this run: named ones, those of the suite, or as many as fit into the named seconds."""
    named = os.environ.get("SIMULATION_SEEDS")
    if named:
        first, _, last = named.partition("-")
        yield from range(int(first), int(last or first) + 1)
        return
    if not IS_LONG:
        yield from world.seeds
        return
    until = _clock() + float(os.environ.get("SIMULATION_SECONDS", "0")) / len(WORLDS)
    count = DRILL_SEEDS if float(os.environ.get("DRILL_SCALE", "0")) >= 1 else 0
    seed = 0
    while seed < count or _clock() < until:
        yield seed
        seed += 1


@pytest.mark.parametrize("name", WORLDS)
def test_nothing_is_wrong_whatever_the_seed(name: str, database: DatabaseCopy) -> None:
    began, runs, faults = _clock(), 0, 0
    for seed in choose_seeds(WORLDS[name]):
        result = simulate(Plan(WORLDS[name], seed, SIZE), database)
        runs, faults = runs + 1, faults + len(result.faults)
        if result.wrong:
            pytest.fail(tell(shrink(result, database)), pytrace=False)
    print(f"{name}: {runs} seeds, {faults} faults, {_clock() - began:.1f} s")


@pytest.mark.parametrize("name", WORLDS)
def test_a_seed_is_always_the_same_run(name: str, database: DatabaseCopy) -> None:
    results = [simulate(Plan(WORLDS[name], 3, 3), database) for _ in range(2)]
    assert _differ(*results) is None


def _differ(first: Result, second: Result) -> object:
    pairs = zip(first.story, second.story, strict=False)
    different = next(((one, other) for one, other in pairs if one != other), None)
    return different or (None if len(first.story) == len(second.story) else "one goes on longer")


class TestScheduler:
    def test_time_passes_only_when_all_wait(self) -> None:
        scheduler = Scheduler(calm())
        scheduler.start("sleeper", lambda: scheduler.sleep(5.0))
        assert not scheduler.let_run(lambda: False, 4.0)
        assert scheduler.now == pytest.approx(4.0)
        scheduler.stop_all()

    def test_what_is_killed_takes_no_effect_and_starts_again(self) -> None:
        nature = Nature(0, {"kill": 1.0}, 0.0)
        scheduler, done = Scheduler(nature), list[str]()

        def act() -> None:
            done.append("began")
            scheduler.point("acts")
            done.append("acted")

        scheduler.start("actor", act)
        scheduler.let_run(lambda: done.count("began") == 2, 60.0)
        scheduler.stop_all()
        assert done == ["began", "began"]

    def test_a_run_may_take_longer_than_nobody_may_keep_the_baton(self, monkeypatch: pytest.MonkeyPatch) -> None:
        scheduler = Scheduler(calm())
        passing = SlowBaton(lambda: setattr(scheduler, "_passes", scheduler._passes + 1))
        monkeypatch.setattr(scheduler.director, "baton", passing)
        scheduler._take_baton(scheduler.director)
        monkeypatch.setattr(scheduler.director, "baton", SlowBaton(lambda: None))
        with pytest.raises(Stuck):
            scheduler._take_baton(scheduler.director)

    def test_a_fault_that_is_left_out_does_not_happen(self) -> None:
        faulty = Nature(0, {"kill": 1.0}, 0.0)
        without = Nature(0, {"kill": 1.0}, 0.0, without={("actor", 1)})
        rolls = faulty.roll(("actor", 1))
        assert faulty.choose_fault(("actor", 1), rolls, ("kill",), 1.0) == "kill"
        assert without.choose_fault(("actor", 1), rolls, ("kill",), 1.0) is None


class SlowBaton:
    """The third look finds it free; before, others do something."""

    def __init__(self, others: Callable[[], None]) -> None:
        self.looks = 0
        self._others = others

    def acquire(self, timeout: float) -> bool:
        self.looks += 1
        self._others()
        return self.looks == 3


def calm() -> Nature:
    return draw_nature(0, faults=())
