"""The worker of `bench/sessions.py`, a process of its own: `python -m bench.repeats sessions|jobs`.

Both have the same number of places and the same to do: look at a number and return. A line tells that it is ready.
"""

import asyncio
import sys

import django

from bench import jobs
from notifications.sessions.handlers import SessionView, register_function

HANDLER = "bench"


def register() -> None:
    register_function(HANDLER, _repeat)


def _repeat(session: SessionView) -> None:
    assert session.records[0] >= 0


def _run_scheduler() -> None:
    """Run the whole of it, as `manage.py run_scheduler` does, with one handler more."""
    django.setup()
    from config.runtime.scheduler import Scheduler

    register()
    print("ready", flush=True)
    Scheduler().run()


if __name__ == "__main__":
    if sys.argv[1] == "sessions":
        _run_scheduler()
    else:
        asyncio.run(jobs.run())
