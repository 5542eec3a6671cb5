"""Fail at step N, for every N: each commit, fsync, rename, unlink, answer and task of one whole exchange goes wrong
once, then everything starts again and the device and the ERP go on by the document."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from tests.faults.exchange_scenario import Scenario
from tests.faults.fault_injection import FaultInjector, FaultMode

SCALE = float(os.environ.get("DRILL_SCALE", "0.02"))
SHARES = 4
# On SQLite a share of the steps stands for all: it costs the time of the suite twice.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(1800)]


@pytest.fixture(autouse=True)
def _own_folders() -> Iterator[None]:
    yield
    shutil.rmtree(settings.DATA_DIR / "messages", ignore_errors=True)


def run(name: str, folder: Path, injector: FaultInjector) -> None:
    scenario = Scenario(name, folder, injector)
    with injector.in_place():
        scenario.run()
    scenario.recover()
    scenario.check()
    scenario.close()


def count_steps(folder: Path) -> int:
    run(
        "first", folder, FaultInjector()
    )  # makes the volume and its marker, which later runs find: steps that they lack
    injector = FaultInjector()
    run("count", folder, injector)
    assert set(injector.steps) == {"fsync", "rename", "link", "unlink", "commit", "answer", "task"}
    return len(injector.steps)


@pytest.mark.parametrize("share", [pytest.param(0, marks=pytest.mark.embedded), *range(1, SHARES)])
def test_nothing_is_lost_and_nothing_twice(share: int, tmp_path: Path) -> None:
    steps = count_steps(tmp_path)
    # At full size each step goes wrong in all three ways; in every run a third of the steps does, in one way each.
    modes = list(FaultMode)
    plans = [
        (at, mode)
        for at in range(1 + share, steps + 1, SHARES if SCALE >= 1 else 3 * SHARES)
        for mode in (modes if SCALE >= 1 else [modes[at // (3 * SHARES) % 3]])
    ]
    done = 0
    for at, mode in plans:
        injector = FaultInjector(at, mode)
        try:
            run(f"w{at}{mode.name[-1]}", tmp_path, injector)
        except BaseException as error:
            error.add_note(f"step {at} ({injector.steps[at - 1 : at]}): {mode}")
            raise
        done += injector.is_done
    print(f"{done} faults over {steps} steps")
    assert done >= len(plans) - 3  # how often the last pieces of work look for more is not the same in every run
