"""Two databases that differ in one thing, measured in turns."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from django.db import connection


@contextmanager
def copies(*suffixes: str) -> Iterator[list[str]]:
    """Copy the database of this run as it is; give the names of the copies, which are dropped in the end."""
    name = connection.settings_dict["NAME"]
    made = [f"{name}_{suffix}" for suffix in suffixes]
    use(name)
    with psycopg.connect(os.environ["TEST_DATABASE_URL"], autocommit=True) as server:
        for copy in made:
            server.execute(f"DROP DATABASE IF EXISTS {copy} WITH (FORCE)")
            server.execute(f"CREATE DATABASE {copy} TEMPLATE {name}")
        try:
            yield made
        finally:
            use(name)
            for copy in made:
                server.execute(f"DROP DATABASE IF EXISTS {copy} WITH (FORCE)")


def use(database: str) -> None:
    """Let the product work on this database from now on."""
    connection.close()
    connection.close_pool()  # type: ignore[attr-defined]  # PostgreSQL alone has one
    connection.settings_dict["NAME"] = database
