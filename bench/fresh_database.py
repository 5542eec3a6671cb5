"""Make a fresh database on the servers of this run and point the product at it, outside of pytest."""

import os
from urllib.parse import urlsplit, urlunsplit

import clickhouse_driver
import psycopg

NAME = os.environ.get("BENCH_DATABASE", "postern_bench")


def set_up() -> None:
    """Point the product at the given servers, make an empty database and migrate it."""
    server = os.environ["TEST_DATABASE_URL"]
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {NAME} WITH (FORCE)")
        connection.execute(f"CREATE DATABASE {NAME}")
    os.environ["DATABASE_URL"] = urlunsplit(urlsplit(server)._replace(path=f"/{NAME}"))
    os.environ["AMQP_URL"] = os.environ["TEST_AMQP_URL"]
    os.environ["REDIS_URL"] = os.environ["TEST_REDIS_URL"]
    os.environ["CLICKHOUSE_URL"] = urlunsplit(urlsplit(os.environ["TEST_CLICKHOUSE_URL"])._replace(path=f"/{NAME}"))
    os.environ.setdefault("LOG_LEVEL", "WARNING")
    # A few callers do here what hundreds would.
    os.environ.setdefault("KEY_RATE", "1000000")
    os.environ.setdefault("ENTERPRISE_RATE", "10000000")
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"

    _empty_clickhouse()
    import django
    from django.core.management import call_command
    from django.db import connections

    django.setup()
    connections.close_all()
    call_command("migrate", verbosity=0)


def _empty_clickhouse() -> None:
    client = clickhouse_driver.Client.from_url(os.environ["TEST_CLICKHOUSE_URL"])
    client.execute(f"DROP DATABASE IF EXISTS {NAME}")
    client.execute(f"CREATE DATABASE {NAME}")
    client.disconnect()
