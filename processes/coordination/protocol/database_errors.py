"""Classify errors of a database: unreachable, busy for now, or final whatever is tried again."""

import sqlite3
from enum import Enum, auto

from django.db import InterfaceError, OperationalError

from config.common.database.failures import driver_codes

_AWAY_CLASSES = ("08", "53", "58")
"""Of PostgreSQL: no connection, no resources (a full disk), errors of its system."""
_AWAY = frozenset({"25006", "57P01", "57P02", "57P03", "57P04", "57P05"})
"""A former primary that has become a standby; a server that is stopping or starting."""
_BUSY_CLASSES = ("40",)
"""A deadlock, a serialization failure."""
_BUSY = frozenset({"55P03", "57014"})
"""A lock that was not to be had, a statement that was cancelled for taking too long."""
_SQLITE_AWAY = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PROTOCOL,
    }
)


class FailureKind(Enum):
    AWAY = auto()
    """The database is unreachable: nothing can be done with it now."""
    BUSY = auto()
    """A lock or a deadlock, or a statement that took too long: it may succeed the next time."""
    FINAL = auto()
    """It fails however often it is tried: a broken constraint, a trigger that raises, an impossible value, a bug."""


def classify_error(error: BaseException) -> FailureKind:
    state, sqlite_code = driver_codes(error)
    if sqlite_code is not None:
        return FailureKind.AWAY if sqlite_code in _SQLITE_AWAY else FailureKind.FINAL
    if state is not None:
        if state in _AWAY or state.startswith(_AWAY_CLASSES):
            return FailureKind.AWAY
        return FailureKind.BUSY if state in _BUSY or state.startswith(_BUSY_CLASSES) else FailureKind.FINAL
    # Without a state the error is the driver's own: the connection is broken, or there was none to be had.
    is_away = isinstance(error, OperationalError | InterfaceError | MemoryError)
    return FailureKind.AWAY if is_away else FailureKind.FINAL


def describe_error(error: BaseException) -> str:
    """Return the first line of an error, as it is stored as a reason."""
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__)[:500]
