"""What the OpenAPI document says of every call: the shape of an error, the correlation id, the idempotency key."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.conf import settings
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter

from config.api.idempotency import HEADER

if TYPE_CHECKING:  # the framework loads this module while it loads its views
    from rest_framework.views import APIView

IDEMPOTENCY_KEY = OpenApiParameter(
    HEADER,
    str,
    OpenApiParameter.HEADER,
    description="1 to 64 characters of A-Z, a-z, 0-9, dot, underscore and hyphen. A repeat within 24 hours returns the "
    "first answer; with another body it is refused with 409.",
)
PAGE_PARAMETERS = [
    OpenApiParameter("limit", int, description="1 to 1000 rows, by default 100"),
    OpenApiParameter("cursor", str, description="taken from `next`"),
]
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
    def get_override_parameters(self) -> list[Any]:
        declared = list(super().get_override_parameters())
        once = self.method == "POST" and getattr(self.view, "idempotent", False)
        return [*declared, IDEMPOTENCY_KEY] if once else declared


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
    components.setdefault("headers", {})["CorrelationId"] = _CORRELATION_ID
    components.setdefault("responses", {})["Refusal"] = _with_correlation_id(_REFUSAL)
    for operations in result["paths"].values():
        for operation in operations.values():
            answers = operation["responses"]
            operation["responses"] = {status: _with_correlation_id(answer) for status, answer in answers.items()}
            operation["responses"]["default"] = {"$ref": "#/components/responses/Refusal"}
    return result


def _with_correlation_id(answer: dict[str, Any]) -> dict[str, Any]:
    headers = {**answer.get("headers", {}), "X-Correlation-ID": {"$ref": "#/components/headers/CorrelationId"}}
    return {**answer, "headers": headers}
