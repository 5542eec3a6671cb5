"""What the OpenAPI document says of every call: who may make it, its errors and examples, the idempotency key."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

from django.conf import settings
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter

from config.api.call_errors import CallError, call_of, errors_of
from config.api.examples import add_examples, load_examples
from config.api.idempotency import HEADER
from config.api.webhooks import WEBHOOK_HEADERS
from config.common.errors import ApplicationError

if TYPE_CHECKING:  # the framework loads this module while it loads its views
    from rest_framework.views import APIView

IDEMPOTENCY_KEY = OpenApiParameter(
    HEADER,
    str,
    OpenApiParameter.HEADER,
    description="1 to 64 characters of A-Z, a-z, 0-9, dot, underscore and hyphen. A repeat within 24 hours returns the "
    "first answer; with another body it is refused with 409.",
)
CURSOR = OpenApiParameter("cursor", str, description="taken from `next`")
PAGE_PARAMETERS = [OpenApiParameter("limit", int, description="1 to 1000 rows, by default 100"), CURSOR]
"""For the `extend_schema` of views that answer by `config.common.web.pagination`."""

_ERROR = {
    "type": "object",
    "required": ["code", "message", "data"],
    "properties": {
        "code": {"type": "string", "example": "invalid"},
        "message": {"type": "string"},
        "data": {"type": "object", "additionalProperties": {}, "example": {"fields": {"name": ["rule"]}}},
    },
}
_CORRELATION_ID = {
    "description": "Names this call in logs and traces; the caller's own, if it sent one.",
    "schema": {"type": "string", "pattern": "^[A-Za-z0-9._-]{8,64}$"},
}
_SHARED_STATUSES = frozenset({"401", "408", "413", "415", "429", "503", "507"})
"""What is refused with these is refused alike in many calls."""
_RETRY_AFTER = {"description": "The seconds to wait before the call is repeated.", "schema": {"type": "integer"}}
_REFUSAL = {
    "description": "Refused or failed; nothing has changed, unless the code is `outcome_unknown` (503): then repeat "
    "the call with the same id or `Idempotency-Key`.",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
}


class KeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "config.access.authentication.KeyAuthentication"
    name = "key"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        return {"type": "http", "scheme": "bearer", "description": "A key made by `manage.py create_key`."}


class StaffScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "config.access.authentication.StaffAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        return {"type": "apiKey", "in": "cookie", "name": settings.SESSION_COOKIE_NAME}


class ApiSchema(AutoSchema):
    find_errors: ClassVar[Callable[[], Sequence[type[ApplicationError]]]] = staticmethod(lambda: ())
    """Returns those that the call itself can answer with: `describe_call` sets it."""
    needs_body: ClassVar[bool] = False

    def get_operation(self, path: str, path_regex: str, path_prefix: str, method: str, registry: Any) -> Any:
        operation = super().get_operation(path, path_regex, path_prefix, method, registry)
        if operation is not None:
            parts = (operation.get("description", ""), _describe_callers(self.view, str(self.method)))
            operation["description"] = "\n\n".join(part for part in parts if part)
            if self.needs_body:
                operation["requestBody"]["required"] = True
            # One answer for each status, with an example of each code.
            by_status = groupby(errors_of(self._call(operation)), attrgetter("status"))
            operation["responses"] |= {str(status): _describe_status(list(found)) for status, found in by_status}
            package = type(self.view).__module__.rpartition(".")[0]
            add_examples(operation, load_examples(package).get(operation["operationId"], ()), path)
        return operation

    def get_description(self) -> str:  # type: ignore[override]  # as the base class has it
        """Return the method's own docstring: that of a class is about the class, not about its calls."""
        method = getattr(self.view, str(self.method).lower(), None)
        return inspect.cleandoc(getattr(method, "__doc__", None) or "")

    def get_override_parameters(self) -> list[Any]:
        declared = list(super().get_override_parameters())
        once = self.method == "POST" and getattr(self.view, "idempotent", False)
        return [*declared, IDEMPOTENCY_KEY] if once else declared

    def _call(self, operation: dict[str, Any]) -> Any:
        headers = [each["name"] for each in operation.get("parameters", ()) if each["in"] == "header"]
        media_types = list(operation.get("requestBody", {}).get("content", ()))
        return call_of(self.view, str(self.method), media_types=media_types, headers=headers)


def _describe_callers(view: Any, method: str) -> str:
    """Say which keys may make a call."""
    scope, kinds = getattr(view, "scopes", {}).get(method), sorted(getattr(view, "key_kinds", {}).get(method, ()))
    allowed = [f"a service key with the scope `{scope}`"] if scope else []
    allowed += [f"the key of a {kind}" for kind in kinds]
    return f"Takes {' or '.join(allowed)}." if allowed else ""


def _describe_status(errors: Sequence[CallError]) -> dict[str, Any]:
    examples = {error.code: {"summary": error.message, "value": error.body} for error in errors}
    answer: dict[str, Any] = {
        "description": ", ".join(f"`{code}`" for code in examples),
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}, "examples": examples}},
    }
    if errors[0].status in (429, 503):
        answer["headers"] = {"Retry-After": {"$ref": "#/components/headers/RetryAfter"}}
    return answer


@dataclass(frozen=True)
class DeclaredCall:
    """What the document says of a call, as far as the frame holds callers to it."""

    query: frozenset[str]
    """The names of its query parameters."""
    has_body: bool
    """Whether it reads a body; what a DELETE carries means nothing in HTTP, and is left alone."""


def find_declared_call(view: "APIView") -> DeclaredCall:
    """Return what the document declares for the call that a view is answering."""
    method = "GET" if view.request.method == "HEAD" else str(view.request.method)
    known = _known.get((type(view), method))
    if known is None:
        known = _known[type(view), method] = _declared(view, method)
    return known


_known: "dict[tuple[type[APIView], str], DeclaredCall]" = {}


def _declared(view: "APIView", method: str) -> DeclaredCall:
    schema = getattr(getattr(view, method.lower(), None), "kwargs", {}).get("schema")
    if schema is None:
        return DeclaredCall(query=frozenset(), has_body=True)
    described = schema()
    described.view, described.method = view, method
    names = (name for parameter in described.get_override_parameters() for name in _names(parameter))
    has_body = method in ("GET", "DELETE") or described.get_request_serializer() is not None
    return DeclaredCall(query=frozenset(names), has_body=has_body)


def _names(parameter: Any) -> list[str]:
    if isinstance(parameter, OpenApiParameter):
        return [parameter.name] if parameter.location == OpenApiParameter.QUERY else []
    return list((parameter() if isinstance(parameter, type) else parameter).fields)


def describe_common_parts(result: dict[str, Any], **unused: Any) -> dict[str, Any]:
    """Add to every operation what the frame does for it."""
    components = result.setdefault("components", {})
    components.setdefault("schemas", {})["Error"] = _ERROR
    components.setdefault("headers", {}).update(CorrelationId=_CORRELATION_ID, RetryAfter=_RETRY_AFTER)
    shared = components.setdefault("responses", {})
    shared["Refusal"] = _with_correlation_id(_REFUSAL)
    for operations in result["paths"].values():
        for operation in operations.values():
            answers = {status: _with_correlation_id(answer) for status, answer in operation["responses"].items()}
            for status in sorted(_SHARED_STATUSES & answers.keys()):
                answers[status] = _share(answers[status], shared)
            operation["responses"] = {**answers, "default": {"$ref": "#/components/responses/Refusal"}}
    for operations in result.get("webhooks", {}).values():
        for operation in operations.values():
            operation["parameters"] = WEBHOOK_HEADERS
    _allow_null_as_any_value(result)
    return result


def _allow_null_as_any_value(part: Any) -> None:
    """Write “any JSON, or null” as any JSON: null would fit both, and by “one of” it must fit one alone."""
    for below in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        if isinstance(below, dict) and below.get("oneOf") == [{}, {"type": "null"}]:
            del below["oneOf"]
        _allow_null_as_any_value(below)


def _share(answer: dict[str, Any], shared: dict[str, Any]) -> dict[str, str]:
    """Move an answer that many calls have to the shared ones; return the reference to it."""
    codes = answer["content"]["application/json"]["examples"]
    name = "Or".join("".join(map(str.title, code.split("_"))) for code in codes)
    shared[name] = answer
    return {"$ref": f"#/components/responses/{name}"}


def _with_correlation_id(answer: dict[str, Any]) -> dict[str, Any]:
    headers = {**answer.get("headers", {}), "X-Correlation-ID": {"$ref": "#/components/headers/CorrelationId"}}
    return {**answer, "headers": headers}
