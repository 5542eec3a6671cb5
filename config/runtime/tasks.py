"""What Celery workers run: each task is a line."""

import time
from typing import Any

from celery import shared_task, signals

from config.common.background.ring import TASK, ring
from config.common.background.work import get_work
from config.runtime import upkeep
from config.runtime.alerts.storage import storage_daemon

LONGEST_SECONDS = 60.0


@shared_task(name=TASK)
def run_work(name: str) -> None:
    """Do the work of that name until nothing is due; after a minute let another task go on."""
    work = get_work(name)
    deadline = time.monotonic() + LONGEST_SECONDS
    while work.run_once():
        if time.monotonic() > deadline:
            ring(name)
            break


@shared_task(name=upkeep.TASK)
def run_upkeep(name: str) -> None:
    upkeep.run_upkeep(name)


@signals.worker_process_init.connect
def _look_at_the_disks(**_: Any) -> None:
    """Look here, not in the worker's first process, which forks again when one of these ends."""
    storage_daemon().start()
