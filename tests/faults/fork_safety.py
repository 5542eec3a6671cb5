"""Close what a forked process must not share with its parent."""

from django.db import connections


def close_all_connections() -> None:
    """Close every connection, also those that wait in a pool: a child would speak on them beside its parent."""
    for connection in connections.all(initialized_only=True):
        connection.close()
        if connection.vendor == "postgresql":
            connection.close_pool()  # type: ignore[attr-defined]
