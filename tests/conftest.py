"""Fixtures of the whole suite: the servers that the run was given, and threads that race."""

import gc
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import pytest
from django.db import connections
from django.test import TransactionTestCase
from django.utils import translation

from config.audit import refusals
from config.common.background.ring import set_local_wake
from tests.database_cleanup import empty_databases
from tests.faults.product import ensure_migrated
from tests.selection import find_virtual_host, group, select
from tests.settings import DATABASES


@dataclass(frozen=True)
class ServerAddresses:
    database: str
    amqp: str
    redis: str
    clickhouse: str


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    select(config, items)
    group(items)


def pytest_collection_finish() -> None:
    """Leave out of later collections what is loaded: thousands of tests and their modules never become garbage."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def servers() -> ServerAddresses:
    """The real servers of this run; `make test` starts them."""
    names = ("TEST_DATABASE_URL", "TEST_AMQP_URL", "TEST_REDIS_URL", "TEST_CLICKHOUSE_URL")
    missing = [name for name in names if not os.environ.get(name)]
    if missing:
        pytest.fail(f"{', '.join(missing)} not set: run the suite by `make test`, or under tests.servers.bench")
    found = ServerAddresses(*(os.environ[name] for name in names))
    host = find_virtual_host()
    return found if host is None else replace(found, amqp=f"{found.amqp.rpartition('/')[0]}/{host}")


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None) -> None:
    """Migrate once what the workers copy: side by side, each for itself, they would take a minute."""
    if DATABASES["default"]["ENGINE"] != "config.engines.sqlite":
        ensure_migrated(os.environ["TEST_DATABASE_URL"])


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    """A request leaves its language on the thread: each test begins in English."""
    with translation.override("en"):
        yield


@pytest.fixture(autouse=True)
def _clock_that_has_looked_at_nothing() -> None:
    """Steady time is carried on within a process: one test that travels in time would take the next ones along."""
    from sensors.heartbeat.clock import clock

    clock._anchor = None


@pytest.fixture
def in_threads() -> Callable[[Callable[[int], Any], int], list[Any]]:
    """Run a function in several threads that start together; return the results, raise the first error."""

    def run(function: Callable[[int], Any], threads: int = 8) -> list[Any]:
        gate = threading.Barrier(threads)

        def body(number: int) -> Any:
            gate.wait()
            try:
                return function(number)
            finally:
                connections.close_all()

        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(body, range(threads)))

    return run


@pytest.fixture(autouse=True, scope="session")
def _quickly_emptied() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", empty_databases)
        yield


@pytest.fixture(autouse=True, scope="session")
def _deaf_scheduler() -> Iterator[None]:
    """Rings end here: a test does the work it is about itself, and no thread holds a connection to its database."""
    set_local_wake(lambda name: None)
    yield
    set_local_wake(None)


@pytest.fixture(autouse=True, scope="session")
def _written_by_hand() -> Iterator[None]:
    """Refused calls are counted and stay there: a test that is about them writes them itself."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(refusals._Refusals, "_start", lambda self: None)
        yield


def pytest_report_header() -> str:
    engine = DATABASES["default"]["ENGINE"].rpartition(".")[2]
    return f"database: {engine}"
