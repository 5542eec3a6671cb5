import sqlite3

import psycopg
import pytest
from django.core.exceptions import ObjectDoesNotExist, PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.core.exceptions import ValidationError as ModelError
from django.db import DataError, IntegrityError, InterfaceError, InternalError, OperationalError
from django.http import Http404
from psycopg_pool import PoolTimeout
from rest_framework.exceptions import ParseError, Throttled, ValidationError

from config.common.database.failures import OUTCOME_UNKNOWN
from config.common.errors import DatabaseAway, NotFound
from config.common.web.failures import find_failure


def from_driver(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


def from_sqlite(code: int) -> Exception:
    cause = sqlite3.OperationalError("drill")
    cause.sqlite_errorcode = code
    return from_driver(OperationalError("drill"), cause)


class TestFindFailure:
    @pytest.mark.parametrize(
        ("error", "status", "code"),
        [
            (NotFound(), 404, "not_found"),
            (Http404(), 404, "not_found"),
            (ObjectDoesNotExist(), 404, "not_found"),
            (PermissionDenied(), 403, "forbidden"),
            (RequestDataTooBig(), 413, "too_large"),
            (SuspiciousOperation(), 400, "bad_request"),
            (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "drill"), 400, "bad_request"),
            (ParseError("drill"), 400, "invalid"),
            (Throttled(wait=7), 429, "throttled"),
            (OperationalError("connection refused"), 503, "database_away"),
            (InterfaceError("connection is closed"), 503, "database_away"),
            (PoolTimeout("drill"), 503, "database_away"),
            (from_driver(OperationalError(), PoolTimeout()), 503, "database_away"),
            (from_driver(OperationalError(), psycopg.errors.DeadlockDetected()), 503, "database_away"),
            (from_driver(InternalError(), psycopg.errors.ReadOnlySqlTransaction()), 503, "database_away"),
            (from_driver(OperationalError(), psycopg.errors.DiskFull()), 507, "disk_full"),
            (from_sqlite(sqlite3.SQLITE_FULL), 507, "disk_full"),
            (from_sqlite(sqlite3.SQLITE_BUSY), 503, "database_away"),
            (from_sqlite(sqlite3.SQLITE_IOERR_WRITE), 503, "database_away"),
            (DataError("out of range"), 400, "invalid"),
            (from_driver(OperationalError(), psycopg.errors.ProgramLimitExceeded()), 400, "invalid"),
            (OverflowError("Python int too large to convert to SQLite INTEGER"), 400, "invalid"),
            (IntegrityError("duplicate key"), 409, "conflict"),
        ],
    )
    def test_tells_the_caller_what_kind_of_failure_it_is(self, error: Exception, status: int, code: str) -> None:
        failure = find_failure(error)
        assert failure is not None
        assert (failure.status, failure.code) == (status, code)

    def test_nothing_has_changed_is_said_only_where_it_is_known(self) -> None:
        lost = psycopg.OperationalError("server closed the connection unexpectedly")
        before = find_failure(from_driver(OperationalError(), lost))
        setattr(lost, OUTCOME_UNKNOWN, True)
        after = find_failure(from_driver(OperationalError(), lost))
        assert before is not None
        assert after is not None
        assert [(each.status, each.code, "nothing has changed" in each.message) for each in (before, after)] == [
            (503, "database_away", True),
            (503, "outcome_unknown", False),
        ]

    @pytest.mark.parametrize(
        "error", [ZeroDivisionError(), OverflowError(), InternalError(), from_sqlite(sqlite3.SQLITE_ERROR)]
    )
    def test_takes_anything_else_for_a_bug(self, error: Exception) -> None:
        assert find_failure(error) is None

    @pytest.mark.parametrize(("error", "wait"), [(DatabaseAway(), "5"), (Throttled(wait=7), "7")])
    def test_says_when_to_come_back(self, error: Exception, wait: str) -> None:
        failure = find_failure(error)
        assert failure is not None
        assert failure.headers == {"Retry-After": wait}


class TestFields:
    @pytest.mark.parametrize(
        ("error", "fields"),
        [
            (ValidationError("all wrong"), {"body": ["all wrong"]}),
            (ValidationError({"name": ["a", "b"]}), {"name": ["a", "b"]}),
            (ValidationError({"rows": [{}, {"name": ["a"]}]}), {"rows.1.name": ["a"]}),
            (ValidationError([{}, {"non_field_errors": ["a"]}]), {"1": ["a"]}),
            (ValidationError({"non_field_errors": ["a"], "x": {"y": ["b"]}}), {"body": ["a"], "x.y": ["b"]}),
            (ModelError("all wrong"), {"body": ["all wrong"]}),
            (ModelError({"name": ["a"], "__all__": ["b"]}), {"name": ["a"], "body": ["b"]}),
        ],
    )
    def test_are_one_level_of_paths(self, error: Exception, fields: dict[str, list[str]]) -> None:
        failure = find_failure(error)
        assert failure is not None
        assert (failure.code, failure.data) == ("invalid", {"fields": fields})
