"""Which tests a run takes, in which order, and which of them stay together in one worker.

By hand pytest runs whatever it is given. `make test` sets SUITE and `make quick` sets QUICK; TEST_PROFILE=embedded is
the run on SQLite.
"""

import os
from collections.abc import Callable

import pytest

from tests.servers.rabbitmq import VIRTUAL_HOSTS_VARIABLE

DATABASE_FIXTURES = {"db", "transactional_db", "django_db_reset_sequences", "live_server"}
# Folders whose tests start servers, the product or a browser.
SLOW = ("faults", "browser", "clients", "servers", "plugins")


def select(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what this run does not take; begin with what takes long."""
    if "QUICK" in os.environ:
        _leave_out(config, items, _is_not_quick)
    elif "SUITE" in os.environ:
        _leave_out(config, items, _is_run_elsewhere)
        # A long test that begins last would have the other workers wait for it.
        items.sort(key=lambda item: not _is_slow(item))


def refuse_servers_for_embedded(items: list[pytest.Item]) -> None:
    """Name the tests that claim to run embedded, where there is no server, and take one."""
    wrong = [item.nodeid for item in items if item.get_closest_marker("embedded") and "servers" in _fixtures(item)]
    if wrong:
        raise pytest.UsageError(f"marked embedded, and need servers: {', '.join(wrong)}")


def group(items: list[pytest.Item]) -> None:
    """Keep in one worker what shares a fixture of its module, and the users of the broker's only virtual host."""
    for item in items:
        if find_virtual_host() is None and item.get_closest_marker("broker"):
            item.add_marker(pytest.mark.xdist_group("broker"))
        elif _shares_a_fixture_of_its_module(item) and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))


def find_virtual_host() -> str | None:
    """Return the virtual host of this worker, where the broker has one for each."""
    hosts = [host for host in os.environ.get(VIRTUAL_HOSTS_VARIABLE, "").split(",") if host]
    number = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    return hosts[number] if workers <= len(hosts) else None


def _leave_out(config: pytest.Config, items: list[pytest.Item], is_left_out: Callable[[pytest.Item], bool]) -> None:
    config.hook.pytest_deselected(items=[item for item in items if is_left_out(item)])
    items[:] = [item for item in items if not is_left_out(item)]


def _is_not_quick(item: pytest.Item) -> bool:
    """Say whether it is slow, or needs a server: PostgreSQL where it is not for SQLite as well."""
    needs_postgres = _uses_the_database(item) and not item.get_closest_marker("embedded")
    return _is_slow(item) or needs_postgres or "servers" in _fixtures(item) or "postgresql" in _parameters(item)


def _is_run_elsewhere(item: pytest.Item) -> bool:
    """Say whether the other database has it: calls run on PostgreSQL, pages on SQLite, and both run what is below them.

    What has no database of its own, or starts a product that has, is the same in both and runs beside PostgreSQL.
    """
    if not item.get_closest_marker("embedded"):
        return False
    if os.environ.get("TEST_PROFILE") == "embedded":
        return "api" in item.path.parts or not _uses_the_database(item)
    return "admin" in item.path.parts


def _is_slow(item: pytest.Item) -> bool:
    folders = item.path.relative_to(item.config.rootpath).parts
    return item.get_closest_marker("slow") is not None or not set(SLOW).isdisjoint(folders)


def _uses_the_database(item: pytest.Item) -> bool:
    return item.get_closest_marker("django_db") is not None or not DATABASE_FIXTURES.isdisjoint(_fixtures(item))


def _fixtures(item: pytest.Item) -> list[str]:
    return list(getattr(item, "fixturenames", ()))


def _parameters(item: pytest.Item) -> list[str]:
    values = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return [value for value in values if isinstance(value, str)]


def _shares_a_fixture_of_its_module(item: pytest.Item) -> bool:
    # Dealt out one by one, the tests of a module would have each worker set it up anew.
    definitions = item._fixtureinfo.name2fixturedefs.values()  # type: ignore[attr-defined]
    return any(found[-1].scope in ("module", "package") for found in definitions)
