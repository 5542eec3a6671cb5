"""Fail at step N, for every N: each commit, written version and answer of one process goes wrong once, in each way;
then everything starts again, and all of it has happened once."""

import os

import pytest

from tests.faults.fault_injection import FaultInjector, FaultMode
from tests.faults.workflow_scenario import Scenario

SCALE = float(os.environ.get("DRILL_SCALE", "0.02"))
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(1800)]


def run(name: str, injector: FaultInjector) -> None:
    scenario = Scenario(name, injector)
    with scenario.in_place():
        scenario.run()
    scenario.check()


def count_steps() -> int:
    injector = FaultInjector()
    run("count", injector)
    assert set(injector.steps) == {"commit", "version", "answer"}
    return len(injector.steps)


@pytest.mark.parametrize(
    "mode", [pytest.param(FaultMode.DIES_AFTER, marks=pytest.mark.embedded), FaultMode.FAILS, FaultMode.DIES_BEFORE]
)
def test_everything_happens_once(mode: FaultMode) -> None:
    steps = count_steps()
    every = 1 if SCALE >= 1 else 6  # in each run a part of the steps, another one for each way
    plans = range(1 + 2 * list(FaultMode).index(mode) % every, steps + 1, every)
    done = 0
    for at in plans:
        injector = FaultInjector(at, mode)
        try:
            run(f"w{at}", injector)
        except BaseException as error:
            error.add_note(f"step {at} ({injector.steps[at - 1 : at]}): {mode}")
            raise
        done += injector.is_done
    print(f"{done} faults over {steps} steps")
    assert done >= len(plans) - 2  # how often the last turns find something is not the same in every run
