"""Calls to the readers' databases: one that is away or silent keeps no slot of the web for longer than a moment."""

from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from django.conf import settings
from django.db import Error, connections

from config.common.database.failures import find_database_failure
from config.common.errors import DatabaseAway
from config.common.web.limits import Busy
from config.engines.circuit_breaker import CircuitBreaker, EngineBusy, EngineUnavailable
from config.engines.postgresql import limit_silence
from processes.coordination.errors import ReaderAway
from processes.coordination.schema.routing import reader_name

ANSWER_SECONDS = 1.5
"""For a connection, and for a word of the server to a statement: what a call reads is found by its key."""
KEPT_FREE = 4
"""One web slot in so many is never taken by calls that wait for one reader's database."""

log = structlog.get_logger(__name__)

_breakers: dict[str, CircuitBreaker] = {}


@contextmanager
def ask_reader(alias: str) -> Iterator[None]:
    """Run the block's reads of a reader's database; raise `ReaderAway` where it does not answer in time.

    Whoever comes after that is told so at once, until one call after a rest finds it back. `Busy` where as many calls
    as may wait for it already do.
    """
    name = reader_name(alias)
    try:
        with _breaker(alias).call(failures=(ReaderAway,)):
            yield from _read_within(alias, name)
    except EngineBusy as error:
        raise Busy from error
    except EngineUnavailable as error:
        raise ReaderAway(reader=name) from error


def most_waiting(concurrency: int) -> int:
    """Return how many calls of a process with so many slots may wait for one reader at once."""
    return max(1, concurrency - concurrency // KEPT_FREE)


def _breaker(alias: str) -> CircuitBreaker:
    made = CircuitBreaker(calls=most_waiting(settings.WEB_CONCURRENCY))
    return _breakers.setdefault(alias, made)


def _read_within(alias: str, name: str) -> Iterator[None]:
    try:
        with limit_silence(alias, ANSWER_SECONDS):
            yield
    except Error as error:
        if not isinstance(find_database_failure(error), DatabaseAway):
            raise
        log.warning("coordination.reader_away", reader=name, error=str(error))
        database = connections[alias]
        if not database.in_atomic_block:
            # Or this thread's next call would be given what was left of the connection.
            database.close()
        raise ReaderAway(reader=name) from error
