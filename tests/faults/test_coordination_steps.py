"""Fail at step N, for every N: each commit and each sending of some change sets goes wrong once, in each way; then
everything starts again. Both sides end equal or both rolled back, and the reader never shows part of an event."""

import os
from functools import cache

import pytest

from tests.faults.coordination_scenario import Scenario, Watcher
from tests.faults.fault_injection import FaultInjector, FaultMode
from tests.processes.coordination.in_memory_roles import DATABASES

SCALE = float(os.environ.get("DRILL_SCALE", "0.02"))
pytestmark = [pytest.mark.django_db(transaction=True, databases=DATABASES), pytest.mark.timeout(1800)]


def run(injector: FaultInjector, *, is_embedded: bool = False) -> Watcher:
    scenario = Scenario(injector, is_embedded=is_embedded)
    with injector.in_place(), Watcher().watching() as watcher:
        scenario.run()
    scenario.check()
    assert watcher.torn == []
    return watcher


@cache
def count_steps() -> int:
    injector = FaultInjector()
    run(injector)
    assert set(injector.steps) == {"commit", "send"}
    return len(injector.steps)


@pytest.mark.parametrize("mode", list(FaultMode))
def test_both_sides_end_equal(mode: FaultMode) -> None:
    steps = count_steps()
    plans = range(1, steps + 1) if SCALE >= 1 else [steps * (2 * list(FaultMode).index(mode) + 1) // 6]
    done = looks = 0
    for at in plans:
        injector = FaultInjector(at, mode)
        try:
            looks += run(injector, is_embedded=at % 2 == 0).looks
        except BaseException as error:
            error.add_note(f"step {at} ({injector.steps[at - 1 : at]}): {mode}")
            raise
        done += injector.is_done
    print(f"{done} faults over {steps} steps, {looks} looks at the reader")
    # How many turns find something depends on the time as well: the last steps of one run are not there in another.
    assert done >= len(plans) - len(plans) // 20
    assert looks > len(plans)
