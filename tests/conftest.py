"""Fixtures of the whole suite: the servers that the run was given, and threads that race."""

import gc
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import pytest
from django.conf import settings
from django.db import connections
from django.test import TransactionTestCase
from django.test.client import ClientHandler
from django.utils import translation

from config.audit import refusals
from config.common.background.ring import set_local_wake
from tests.database_cleanup import empty_databases
from tests.declared_errors import watch_errors
from tests.faults.product import SQLITE_FILE, ensure_migrated, ensure_template
from tests.selection import find_virtual_host, group, refuse_servers_for_embedded, select
from tests.settings import DATABASES


@dataclass(frozen=True)
class ServerAddresses:
    database: str
    amqp: str
    redis: str
    clickhouse: str


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the groups in the same hook, and would read none yet
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    refuse_servers_for_embedded(items)
    select(config, items)
    group(items)


# What a collection of tests makes is kept: whoever looks through it for garbage again and again finds none.
gc.disable()


def pytest_collection_finish() -> None:
    """Leave out of later collections what is loaded: thousands of tests and their modules never become garbage."""
    gc.freeze()
    # What lives longer than a test is little, and is looked through a tenth as often as Python would.
    gc.set_threshold(700, 10, 100)
    gc.enable()


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
        return
    creation: Any = connections["default"].creation
    create = creation._create_test_db

    def create_by_copy(*args: Any, **kwargs: Any) -> str:
        name = create(*args, **kwargs)
        shutil.copyfile(ensure_template() / SQLITE_FILE, name)
        return str(name)

    creation._create_test_db = create_by_copy


@pytest.fixture(autouse=True, scope="session")
def _middleware_made_once() -> Iterator[None]:
    """Every client of a test would make the whole chain anew; under settings of its own it does."""
    make, product, made = ClientHandler.load_middleware, vars(settings)["_wrapped"], list[Any]()

    def share(handler: Any, is_async: bool = False) -> None:
        if vars(settings)["_wrapped"] is not product:
            make(handler, is_async)
            return
        if not made:
            make(handler)
            made.append(handler._middleware_chain)
        handler._middleware_chain = made[0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ClientHandler, "load_middleware", share)
        yield


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    """A request leaves its language on the thread: each test begins in English."""
    with translation.override("en"):
        yield


@pytest.fixture(autouse=True, scope="session")
def _undeclared_errors() -> Iterator[list[str]]:
    with pytest.MonkeyPatch.context() as patch:
        yield watch_errors(patch)


@pytest.fixture(autouse=True)
def _every_error_is_in_the_document(_undeclared_errors: list[str]) -> Iterator[None]:
    """Whoever writes a client reads there what a call can answer; a test that sees anything else fails."""
    _undeclared_errors.clear()
    yield
    assert _undeclared_errors == []


@pytest.fixture(autouse=True)
def _clock_that_has_looked_at_nothing() -> None:
    """Steady time is carried on within a process: one test that travels in time would take the next ones along."""
    from sensors.heartbeat.clock import clock

    clock._anchor = None


@pytest.fixture(autouse=True)
def _nothing_remembered(request: pytest.FixtureRequest) -> Iterator[None]:
    """Rows are undone with the test, so the numbers of revisions and of instances mean others in the next."""
    yield
    if request.node.get_closest_marker("django_db") or "db" in request.fixturenames:
        from messaging.services.send import check_addressee
        from processes.workflows.element_names import name_in_words
        from processes.workflows.heads import clear_head_cache, get_revision_facts
        from processes.workflows.services.definitions.library import COMPILED

        for remembers in (get_revision_facts, check_addressee, name_in_words):
            remembers.cache_clear()
        COMPILED.clear()
        clear_head_cache()


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
