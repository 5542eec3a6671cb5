"""What must not be shared with a process that a test forks."""

from django.db import connections


def close_all_connections() -> None:
    """Close every connection, also those that wait in a pool: a child would speak on them beside its parent."""
    for connection in connections.all(initialized_only=True):
        connection.close()
        if connection.vendor == "postgresql":
            connection.close_pool()  # type: ignore[attr-defined]
