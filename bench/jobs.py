"""Jobs of procrastinate, set up as fast as its documentation allows: the yardstick of `bench/sessions.py`."""

import os

import procrastinate

CONCURRENCY = 8
TASK = "bench"


def make_app() -> procrastinate.App:
    connector = procrastinate.PsycopgConnector(conninfo=os.environ["DATABASE_URL"], max_size=CONCURRENCY + 2)
    app = procrastinate.App(connector=connector)
    app.task(name=TASK)(_do)
    return app


async def run() -> None:
    """Run the worker until it is told to end."""
    async with make_app().open_async() as app:
        print("ready", flush=True)
        await app.run_worker_async(concurrency=CONCURRENCY, delete_jobs="always")


async def _do(number: int) -> None:
    """Do nothing, as a coroutine: for each job that is a plain function procrastinate pays for a thread."""
    assert number >= 0
