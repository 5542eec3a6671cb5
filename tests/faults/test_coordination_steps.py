"""Fail at step N, for every N: each commit and each sending of some change sets goes wrong once, in each way; then
everything starts again. Both sides end equal or both rolled back, and the reader never shows part of an event."""

import os

import pytest

from tests.faults.coordination_world import Watcher, World
from tests.faults.sabotage import Mode, Sabotage
from tests.processes.coordination.cast import DATABASES

SCALE = float(os.environ.get("DRILL_SCALE", "0.02"))
pytestmark = [pytest.mark.django_db(transaction=True, databases=DATABASES), pytest.mark.timeout(1800)]


def run(sabotage: Sabotage, *, is_embedded: bool = False) -> Watcher:
    world = World(sabotage, is_embedded=is_embedded)
    with sabotage.in_place(), Watcher().watching() as watcher:
        world.run()
    world.check()
    assert watcher.torn == []
    return watcher


@pytest.mark.parametrize(
    "mode", [pytest.param(Mode.DIES_AFTER, marks=pytest.mark.embedded), Mode.FAILS, Mode.DIES_BEFORE]
)
def test_both_sides_end_equal(mode: Mode) -> None:
    count = Sabotage()
    run(count)
    assert set(count.steps) == {"commit", "send"}
    every = 1 if SCALE >= 1 else len(count.steps) // 2  # in each run a part of the steps, another one for each way
    plans = range(1 + 3 * list(Mode).index(mode) % every, len(count.steps) + 1, every)
    done = looks = 0
    for at in plans:
        sabotage = Sabotage(at, mode)
        try:
            looks += run(sabotage, is_embedded=at % 2 == 0).looks
        except BaseException as error:
            error.add_note(f"step {at} ({sabotage.steps[at - 1 : at]}): {mode}")
            raise
        done += sabotage.is_done
    print(f"{done} faults over {len(count.steps)} steps, {looks} looks at the reader")
    assert done == len(plans)
    assert looks > len(plans)
