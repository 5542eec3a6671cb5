"""PostgreSQL outside of the pool, for what must not wait for a free connection or holds one for long."""

from typing import Any

import psycopg
from django.db import connection

from config.engines.quorum import QuorumConnection

HEALTH_SECONDS = 2
"""libpq takes a second as two."""


def connect(**options: Any) -> psycopg.Connection[Any]:
    """Open a connection of its own to the default database, in autocommit mode."""
    parameters = {**connection.get_connection_params(), **options}
    return QuorumConnection.connect(**parameters, autocommit=True)


def health() -> None:
    """Raise unless a server lets a client in and, where it has standbys, they confirm a commit."""
    connect(connect_timeout=HEALTH_SECONDS).close()
