"""Run a world under a seed; shrink a run that fails, and tell its story."""

import logging
import time
import warnings
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from hashlib import blake2b

from django.db import connection

from tests.faults.database_copy import DatabaseCopy, copy_database
from tests.simulation.database import simulated_sqlite
from tests.simulation.nature import Nature, Place, draw_nature
from tests.simulation.scheduler import Entry, Scheduler
from tests.simulation.threads import simulated_clocks, simulated_processes, simulated_threads
from tests.simulation.world import World

SHRINK_RUNS = 80
SHRINK_SECONDS = 60.0
"""Of the real clock: a run that never comes to rest takes long each time."""
TOLD = {"statement"}
"""What a story leaves out unless it is asked for."""


@dataclass(frozen=True)
class Plan:
    """All that a run hangs on."""

    world: type[World]
    seed: int
    size: int = 6
    without: Collection[Place] = frozenset()
    steady: Collection[Place] = frozenset()

    def nature(self) -> Nature:
        return draw_nature(self.seed, faults=self.world.faults, without=self.without, steady=self.steady)


@dataclass(frozen=True)
class Result:
    plan: Plan
    wrong: list[str]
    story: list[Entry]
    faults: list[tuple[Place, str]]
    switches: list[Place]
    seconds: float

    def digest(self) -> str:
        """Return a name for all that happened: the same for the same plan."""
        text = "\n".join(f"{each.at:.6f} {each.who} {each.what} {each.detail}" for each in self.story)
        return blake2b(text.encode(), digest_size=8).hexdigest()


def simulate(plan: Plan, copy: DatabaseCopy) -> Result:
    """Run a plan from a clean database; return what was wrong in the end, and the story."""
    copy.put_back()
    scheduler = Scheduler(plan.nature())
    world = plan.world(scheduler, plan.size)
    with _in_place(scheduler), world.in_place():
        try:
            world.begin()
            scheduler.let_run(lambda: False, world.seconds)
            scheduler.tell("THE FAULTS ARE OVER")
            scheduler.is_calm = True
            is_quiet = _let_rest(scheduler, world)
        finally:
            scheduler.stop_all()
        world.end()
        wrong = list(world.check())
        if not is_quiet:
            wrong.append(f"did not come to rest within {world.patience:.0f} s")
    if scheduler.error is not None:
        raise scheduler.error
    return Result(plan, wrong, scheduler.story, scheduler.faults, scheduler.switches, scheduler.now)


def _let_rest(scheduler: Scheduler, world: World) -> bool:
    until = scheduler.now + world.patience
    while scheduler.now < until and scheduler.error is None:
        scheduler.let_run(lambda: False, world.rest_seconds)
        if world.is_quiet():
            return True
    return False


@contextmanager
def _in_place(scheduler: Scheduler) -> Iterator[None]:
    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")  # what a killed process leaves behind is nobody's fault
        stack.callback(logging.disable, logging.root.manager.disable)
        logging.disable()
        connection.close()  # opened anew by the clock of the simulation
        stack.callback(connection.close)
        for each in (simulated_threads, simulated_clocks, simulated_processes, simulated_sqlite):
            stack.enter_context(each(scheduler))
        yield


def shrink(failed: Result, copy: DatabaseCopy, *, runs: int = SHRINK_RUNS) -> Result:
    """Return the smallest run found that fails: with less to do, fewer faults, fewer turns."""
    best, until = failed, time.monotonic() + SHRINK_SECONDS
    for size in range(1, failed.plan.size):
        if time.monotonic() > until:
            break
        again = simulate(replace(failed.plan, size=size), copy)
        runs -= 1
        if again.wrong:
            best = again
            break
    for field in ("without", "steady"):
        places = [place for place, _ in best.faults] if field == "without" else list(best.switches)
        step = max(1, len(places))
        while step and runs > 0:
            for begin in range(0, len(places), step):
                if runs <= 0 or time.monotonic() > until:
                    return best
                runs -= 1
                left_out = {*getattr(best.plan, field), *places[begin : begin + step]}
                again = simulate(_leave_out(best.plan, field, left_out), copy)
                if again.wrong:
                    best = again
            step //= 2
    return best


def _leave_out(plan: Plan, field: str, places: Collection[Place]) -> Plan:
    if field == "without":
        return replace(plan, without=frozenset(places))
    return replace(plan, steady=frozenset(places))


def tell(result: Result, *, is_whole: bool = False) -> str:
    """Return the story of a run: who did what when."""
    plan = result.plan
    lines = [f"{plan.world.name}, seed {plan.seed}, size {plan.size}: {len(result.faults)} faults"]
    lines += [f"  ! {each}" for each in result.wrong]
    for entry in result.story:
        detail = _shorten(entry.detail)
        if is_whole or entry.what != "statement" or _is_write(entry.detail):
            lines.append(f"  {entry.at:10.3f}  {entry.who:28} {entry.what} {detail}")
    return "\n".join(lines)


def _is_write(statement: str) -> bool:
    return any(word in statement[:2000] for word in ("INSERT", "UPDATE", "DELETE"))


def _shorten(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 110 else f"{text[:107]}..."


def make_copy() -> DatabaseCopy:
    return copy_database()
