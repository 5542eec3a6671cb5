"""A fresh database on the servers of this run, for benchmarks and drills outside of pytest."""

import os
import tempfile
from urllib.parse import urlsplit, urlunsplit

import psycopg

NAME = "postern_bench"


def set_up() -> None:
    """Point the product at the given servers, make an empty database and migrate it."""
    server = os.environ["TEST_DATABASE_URL"]
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {NAME} WITH (FORCE)")
        connection.execute(f"CREATE DATABASE {NAME}")
    os.environ["DATABASE_URL"] = urlunsplit(urlsplit(server)._replace(path=f"/{NAME}"))
    os.environ["AMQP_URL"] = os.environ["TEST_AMQP_URL"]
    os.environ["REDIS_URL"] = os.environ["TEST_REDIS_URL"]
    os.environ["CLICKHOUSE_URL"] = os.environ["TEST_CLICKHOUSE_URL"]
    os.environ.setdefault("DATA_DIR", tempfile.mkdtemp(prefix="postern-bench-"))
    os.environ.setdefault("LOG_LEVEL", "WARNING")
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"

    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
