"""One translation of whatever fails into what a caller sees: a status, a code, a message, data.

Used by the REST handler (`api.py`), the middleware and the URL handlers, so a failure reads the same wherever it
happens. What is not known here is a bug.
"""

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import psycopg
from django.conf import settings
from django.core import exceptions as django_errors
from django.db import DataError, IntegrityError, InterfaceError, OperationalError
from django.http import Http404
from django.http.multipartparser import MultiPartParserError
from django.utils.translation import gettext
from rest_framework import exceptions as rest_errors

from config.common.errors import (
    ApplicationError,
    Conflict,
    DatabaseAway,
    DiskFull,
    InternalError,
    Invalid,
    NotFound,
    NotPermitted,
    OutcomeUnknown,
    TooLarge,
)

WHOLE_BODY = "body"
"""Stands in `data.fields` for a rule that no single field breaks."""
MOST_RULES = 200
"""How many broken rules an answer names, whatever kind they are."""

OUTCOME_UNKNOWN = "outcome_is_unknown"
"""The mark that an engine puts on the driver's error when it lost its database in the middle of a commit."""

_DISK_FULL = "53100"
_LIMIT_EXCEEDED = "54"  # a class of states: a value is too long for an index, a text too deep for a column
_READ_ONLY = "25006"  # a former primary that has become a standby
_REST_CODES = {401: "unauthorized", 403: "forbidden", 404: "not_found"}


class BadRequest(ApplicationError):
    """The request is malformed."""


@dataclass(frozen=True)
class Failure:
    status: int
    code: str
    message: str
    data: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)

    def body(self) -> dict[str, Any]:
        return {"code": self.code, "message": self.message, "data": self.data}


def find_failure(error: BaseException) -> Failure | None:
    """Return what the caller is told about an error; nothing for a bug."""
    translations: tuple[Callable[[BaseException], ApplicationError | Failure | None], ...]
    translations = (_of_ours, _of_rest, _of_django, _of_database)
    for translate in translations:
        found = translate(error)
        if found is not None:
            return failure_of(found) if isinstance(found, ApplicationError) else found
    return None


def is_database_away(error: BaseException) -> bool:
    """Return whether the database cannot do its work now, whatever it was given."""
    return isinstance(_of_database(error), DatabaseAway | DiskFull)


def failure_of(error: ApplicationError) -> Failure:
    headers = {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}
    return Failure(error.status, error.code, error.message, error.data, headers)


def internal_failure() -> Failure:
    return failure_of(InternalError())


def _of_ours(error: BaseException) -> ApplicationError | None:
    return error if isinstance(error, ApplicationError) else None


def _of_rest(error: BaseException) -> ApplicationError | Failure | None:
    if isinstance(error, rest_errors.ValidationError):
        return Invalid(_flattened(error.detail))
    if isinstance(error, rest_errors.ParseError):
        return Invalid({WHOLE_BODY: [str(error.detail)]})
    if not isinstance(error, rest_errors.APIException):
        return None
    headers = {}
    if getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = str(error.auth_header)  # type: ignore[attr-defined]
    if getattr(error, "wait", None) is not None:
        headers["Retry-After"] = str(error.wait)  # type: ignore[attr-defined]
    code = _REST_CODES.get(error.status_code, error.default_code)
    return Failure(error.status_code, code, str(error.detail), {}, headers)


def _of_django(error: BaseException) -> ApplicationError | None:
    if isinstance(error, Http404 | django_errors.ObjectDoesNotExist):
        return NotFound()
    if isinstance(error, django_errors.PermissionDenied):
        return NotPermitted()
    if isinstance(error, django_errors.RequestDataTooBig):
        return TooLarge(settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0)
    if isinstance(error, django_errors.ValidationError):
        return Invalid(_flattened(rest_errors.ValidationError(_rules(error)).detail))
    if isinstance(error, django_errors.SuspiciousOperation | django_errors.BadRequest | MultiPartParserError):
        return BadRequest()
    if isinstance(error, UnicodeError):
        return BadRequest(gettext("The text is not valid UTF-8."))
    return None


def _of_database(error: BaseException) -> ApplicationError | None:
    state, sqlite_code = driver_codes(error)
    if getattr(error.__cause__ or error, OUTCOME_UNKNOWN, False):
        return OutcomeUnknown()
    if state == _DISK_FULL or sqlite_code == sqlite3.SQLITE_FULL:
        return DiskFull()
    if isinstance(error, IntegrityError):
        return Conflict()
    is_too_much = state is not None and state.startswith(_LIMIT_EXCEEDED)
    if isinstance(error, DataError) or is_too_much or (isinstance(error, OverflowError) and "SQLite" in str(error)):
        return Invalid({WHOLE_BODY: [gettext("A value is out of range or holds characters that cannot be kept.")]})
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


def _rules(error: django_errors.ValidationError) -> Any:
    rules: dict[str, list[str]] = dict(error.message_dict) if hasattr(error, "error_dict") else {"": error.messages}
    everything = rules.pop(django_errors.NON_FIELD_ERRORS, [])
    return rules | ({"": everything} if everything else {})


def _flattened(detail: Any) -> dict[str, list[str]]:
    """Turn nested errors into one level: `records.3.name`."""
    fields: dict[str, list[str]] = {}
    for path, rule in islice(_rules_by_path(detail, ()), MOST_RULES):
        fields.setdefault(".".join(path) or WHOLE_BODY, []).append(rule)
    return fields


def _rules_by_path(detail: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(detail, dict):
        for name, below in detail.items():
            yield from _rules_by_path(below, path if name in ("non_field_errors", "") else (*path, str(name)))
    elif isinstance(detail, list):
        for index, below in enumerate(detail):
            yield from _rules_by_path(below, path if isinstance(below, str) else (*path, str(index)))
    else:
        yield path, str(detail)
