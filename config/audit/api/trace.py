"""`/trace/{correlation_id}/`: what one call caused, from every app."""

from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from config.access.authentication import Principal
from config.access.scopes import Scope
from config.api.base_view import ApiView
from config.audit.trace import TraceStep, collect_trace
from config.common.correlation import PATTERN
from config.common.errors import Invalid
from config.common.web.serializers import TimestampField


@extend_schema_field({"oneOf": [{"type": "integer"}, {"type": "string"}]})
class IdField(serializers.Field[Any, Any, Any, Any]):
    def to_representation(self, value: Any) -> Any:
        return value


class StepSerializer(serializers.Serializer[TraceStep]):
    at = TimestampField()
    kind = serializers.CharField(help_text=_("change, event, delivery, attempt, alert and whatever other parts add"))
    id = IdField(help_text=_("as the calls about that kind name it"))
    summary = serializers.CharField()
    outcome = serializers.CharField(allow_null=True)
    data = serializers.DictField()  # type: ignore[assignment]


class TraceSerializer(serializers.Serializer[Any]):
    results = StepSerializer(many=True)


class TraceView(ApiView):
    scopes = {"GET": Scope.OPERATIONS}

    @extend_schema(
        operation_id="trace_get",
        tags=["trace"],
        parameters=[
            OpenApiParameter("correlation_id", OpenApiTypes.STR, OpenApiParameter.PATH, pattern=PATTERN.pattern)
        ],
        responses=TraceSerializer,
    )
    def get(self, request: Request, correlation_id: str) -> Response:
        """List what one call, message or job caused, in order of time; at most 1000 of each kind."""
        if not PATTERN.fullmatch(correlation_id):
            raise Invalid(
                {"correlation_id": [gettext("Must be 8 to 64 of A-Z, a-z, 0-9, dot, underscore and hyphen.")]}
            )
        # To a key its scope opens the whole chain; a member of staff sees of it what they may see elsewhere.
        is_key = isinstance(request.user, Principal)
        found = collect_trace(correlation_id, may=lambda permission: is_key or request.user.has_perm(permission))
        return Response(TraceSerializer({"results": found}).data)
