"""The database connections of a worker's thread: kept while it is busy, given up while it has nothing to do."""

from collections.abc import Callable

import structlog
from django.db import connections

log = structlog.get_logger(__name__)


def release_connections() -> None:
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            _close_quietly(connection.close_if_unusable_or_obsolete)


def close_connections() -> None:
    _close_quietly(connections.close_all)


def _close_quietly(close: Callable[[], None]) -> None:
    """A worker counts its places by its own steps: an error between two of them would make one too many or too few."""
    try:
        close()
    except Exception as error:  # noqa: BLE001  (whatever a dying connection raises)
        log.info("sessions.connection_not_closed", error=repr(error))
