"""What an error of the database means: away, full, contended, or a fault of what it was given."""

import sqlite3

import psycopg
from django.db import DataError, IntegrityError, InterfaceError, OperationalError
from django.utils.translation import gettext

from config.common.errors import ApplicationError, Conflict, DatabaseAway, DiskFull, Invalid, OutcomeUnknown

WHOLE_BODY = "body"
"""Stands in `data.fields` for a rule that no single field breaks."""
OUTCOME_UNKNOWN = "outcome_is_unknown"
"""The mark that an engine puts on the driver's error when it lost its database in the middle of a commit."""

_DISK_FULL = "53100"
_LIMIT_EXCEEDED = "54"  # a class of states: a value is too long for an index, a text too deep for a column
_READ_ONLY = "25006"  # a former primary that has become a standby


def is_database_away(error: BaseException) -> bool:
    """Return whether the database cannot do its work now, whatever it was given."""
    return isinstance(find_database_failure(error), DatabaseAway | DiskFull)


def find_database_failure(error: BaseException) -> ApplicationError | None:
    """Return what a caller is told about an error of the database; nothing for a wrong statement."""
    state, sqlite_code = driver_codes(error)
    if getattr(error.__cause__ or error, OUTCOME_UNKNOWN, False):
        return OutcomeUnknown()
    if state == _DISK_FULL or sqlite_code == sqlite3.SQLITE_FULL:
        return DiskFull()
    if isinstance(error, IntegrityError):
        return Conflict()
    is_too_much = state is not None and state.startswith(_LIMIT_EXCEEDED)
    if isinstance(error, DataError) or is_too_much or (isinstance(error, OverflowError) and "SQLite" in str(error)):
        return Invalid({WHOLE_BODY: [gettext("A value is out of range or contains characters that cannot be stored.")]})
    if sqlite_code == sqlite3.SQLITE_ERROR:
        return None  # a wrong statement, no matter of availability
    if isinstance(error, OperationalError | InterfaceError | psycopg.OperationalError) or state == _READ_ONLY:
        return DatabaseAway()
    return None


def mark_if_lost(error: psycopg.OperationalError) -> None:
    """Mark the error of a commit whose answer was lost. What the server has answered with a refusal has not happened.

    Lost is: no answer at all, a broken connection (08), or an intervention that ended the session (57P).
    """
    if error.sqlstate is None or error.sqlstate.startswith(("08", "57P")):
        setattr(error, OUTCOME_UNKNOWN, True)


def driver_codes(error: BaseException) -> tuple[str | None, int | None]:
    """Return PostgreSQL's state and SQLite's basic code, from the driver's error behind Django's."""
    driver = error.__cause__ or error
    code = getattr(driver, "sqlite_errorcode", None)
    return getattr(driver, "sqlstate", None), None if code is None else code & 0xFF
