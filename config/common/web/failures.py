"""One translation of whatever fails into what a caller sees: a status, a code, a message, data.

Used by the REST handler (`api.py`), the middleware and the URL handlers, so a failure reads the same wherever it
happens. What is not known here is a bug.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from django.conf import settings
from django.core import exceptions as django_errors
from django.http import Http404
from django.http.multipartparser import MultiPartParserError
from django.utils.translation import gettext
from rest_framework import exceptions as rest_errors

from config.common.database.failures import (
    WHOLE_BODY,
    find_database_failure,
)
from config.common.errors import ApplicationError, InternalError, Invalid, NotFound, NotPermitted, TooLarge

MOST_RULES = 200
"""How many broken rules an answer names, whatever kind they are."""

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
    found = error if isinstance(error, ApplicationError) else _translate_rest(error)
    found = found or _translate_django(error) or find_database_failure(error)
    return failure_of(found) if isinstance(found, ApplicationError) else found


def failure_of(error: ApplicationError) -> Failure:
    headers = {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}
    return Failure(error.status, error.code, error.message, error.data, headers)


def internal_failure() -> Failure:
    return failure_of(InternalError())


def _translate_rest(error: BaseException) -> ApplicationError | Failure | None:
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


def _translate_django(error: BaseException) -> ApplicationError | None:
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
