"""A second reader with tables of its own: a schema beside the first one's, or another file."""

from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.db import connections

from processes.coordination.models.writer import DummyItem
from processes.coordination.reader.models import TABLES
from processes.coordination.schema.fixed_rows import ensure_fixed_rows
from processes.coordination.schema.routing import READER_APP
from tests.processes.coordination.in_memory_roles import InMemoryRoles, rows_of

SECOND = "reader_second"


@pytest.fixture(scope="module")
def second_reader(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Configure one more reader for the tests of a module."""
    with django_db_blocker.unblock():
        connections.settings[SECOND] = _beside(connections["reader_main"])
        _make_tables()
    yield
    with django_db_blocker.unblock():
        _drop_tables()
        connections[SECOND].close()
        if connections[SECOND].vendor == "postgresql":
            connections[SECOND].close_pool()  # type: ignore[attr-defined]
        del connections[SECOND], connections.settings[SECOND]


@pytest.fixture
def roles() -> InMemoryRoles:
    """All roles, with both readers."""
    roles = InMemoryRoles("main", "second")
    roles.live()
    return roles


def items(alias: str) -> dict[int, Any]:
    return rows_of(DummyItem if alias == "default" else TABLES["DummyItem"], using=alias)


def rest_without_second(roles: InMemoryRoles) -> None:
    roles.rest(of=[roles.writer, roles.coordinator, roles.reader])


def _beside(first: Any) -> dict[str, Any]:
    chosen: dict[str, Any] = deepcopy(first.settings_dict)
    if first.vendor == "postgresql":
        chosen["OPTIONS"]["options"] += " -c search_path=second"
    else:
        chosen["NAME"] = str(Path(chosen["NAME"]).with_name("second.sqlite3"))
    return chosen


def _make_tables() -> None:
    connection = connections[SECOND]
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("CREATE SCHEMA second")
    with connection.schema_editor() as editor:
        for model in apps.get_app_config(READER_APP).get_models():
            editor.create_model(model)
    ensure_fixed_rows(app_config=apps.get_app_config(READER_APP), using=SECOND)


def _drop_tables() -> None:
    connection = connections[SECOND]
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("DROP SCHEMA second CASCADE")
    else:
        connection.close()
        Path(connection.settings_dict["NAME"]).unlink()
