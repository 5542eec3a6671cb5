"""The errors that a call can answer with: its own, and what any call like it can be refused with."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext
from rest_framework.exceptions import NotAuthenticated, Throttled, UnsupportedMediaType
from rest_framework.fields import Field

from config.api.idempotency import HEADER, IdempotencyConflict
from config.common.errors import (
    ApplicationError,
    DatabaseAway,
    DiskFull,
    Invalid,
    OutcomeUnknown,
    ScopeMissing,
    TooLarge,
    WrongKind,
)
from config.common.web.json_codec import BadJson
from config.common.web.limits.errors import BodyStalled, Busy

if TYPE_CHECKING:  # the framework loads this module while it loads its views
    from rest_framework.views import APIView

WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
LARGEST_BODY = 1_048_576


@dataclass(frozen=True)
class CallError:
    """An error as the document shows it: when it comes, and the body that the caller gets."""

    status: int
    code: str
    message: str
    data: dict[str, Any] = field(default_factory=dict)

    @property
    def body(self) -> dict[str, Any]:
        return {"code": self.code, "message": self.message, "data": self.data}


@dataclass(frozen=True)
class Call:
    """What decides which errors a call can have."""

    method: str
    scope: str | None
    kinds: Sequence[str]
    media_types: Sequence[str]
    """Of its body; empty where it takes none."""
    is_parsed: bool
    """Whether the framework parses the body by its media type."""
    takes_idempotency_key: bool
    own: Sequence[type[ApplicationError]]


def call_of(view: "APIView", method: str, *, media_types: Sequence[str], headers: Sequence[str]) -> Call:
    """Return what the errors of a view's method follow from."""
    # Of the class: the view of a call may have put another function in the place of its own.
    schema = getattr(getattr(type(view), method.lower(), None), "kwargs", {}).get("schema")
    return Call(
        method=method,
        scope=getattr(view, "scopes", {}).get(method),
        kinds=sorted(getattr(view, "key_kinds", {}).get(method, ())),
        media_types=media_types,
        is_parsed=not getattr(view, "reads_body_itself", False),
        takes_idempotency_key=HEADER in headers,
        own=schema.find_errors() if schema is not None else (),
    )


def errors_of(call: Call) -> list[CallError]:
    """Return all errors of a call, by status; those of one status in the order in which they are checked."""
    return sorted([*_shared_errors(call), *map(_describe, call.own)], key=lambda error: error.status)


def _shared_errors(call: Call) -> Iterator[CallError]:
    yield CallError(401, "unauthorized", str(NotAuthenticated.default_detail))
    yield _refused_caller(call)
    yield CallError(429, Throttled.default_code, str(Throttled.default_detail))
    yield CallError(
        400, Invalid.code, _words(Invalid), {"fields": {"name": [str(Field.default_error_messages["required"])]}}
    )
    if call.media_types:
        yield _describe(TooLarge, limit=LARGEST_BODY)
        yield _describe(BodyStalled)
        if "application/json" in call.media_types:
            yield _describe(BadJson)
        if call.is_parsed:
            other = UnsupportedMediaType("text/plain")
            yield CallError(other.status_code, other.default_code, str(other.detail))
    if call.takes_idempotency_key:
        yield _describe(IdempotencyConflict)
    yield _describe(Busy)
    yield _describe(DatabaseAway)
    if call.method in WRITES:
        yield _describe(OutcomeUnknown)
        yield _describe(DiskFull)


def _refused_caller(call: Call) -> CallError:
    if call.scope:
        error = ScopeMissing(call.scope)
        return CallError(403, error.code, error.message, error.data)
    return _describe(WrongKind, kinds=list(call.kinds)) if call.kinds else _describe(ScopeMissing)


def _describe(error: type[ApplicationError], **data: Any) -> CallError:
    return CallError(error.status, error.code, _words(error), data or dict(error.sample))


def _words(error: type[ApplicationError]) -> str:
    return gettext(" ".join((error.__doc__ or "").split()))
