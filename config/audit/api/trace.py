"""`/trace/{correlation_id}/`: what one call caused, from every app."""

from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from config.access.authentication import Principal
from config.access.scopes import Scope
from config.api.base_view import ApiView
from config.api.description import describe_call
from config.audit.trace import Standing, Trace, TraceStep, read_trace
from config.common.correlation import PATTERN
from config.common.errors import Invalid
from config.common.times import MILLISECOND
from config.common.web.serializers import TimestampField


@extend_schema_field({"oneOf": [{"type": "integer"}, {"type": "string"}]})
class IdField(serializers.Field[Any, Any, Any, Any]):
    def to_representation(self, value: Any) -> Any:
        return value


class StepSerializer(serializers.Serializer[TraceStep]):
    at = TimestampField()
    after_ms = serializers.IntegerField(help_text=_("since the step before it"))
    lane = serializers.CharField(help_text=_("the lane in which it is drawn"))
    kind = serializers.CharField(help_text=_("change, event, delivery, attempt, alert and other kinds"))
    id = IdField(help_text=_("as named by the calls for that kind"))
    summary = serializers.CharField()
    outcome = serializers.CharField(allow_null=True)
    standing = serializers.ChoiceField(list(Standing), allow_null=True)
    actor = serializers.CharField(help_text=_("who did it, or empty"))
    page = serializers.CharField(help_text=_("the path of its page in the admin"))
    data = serializers.DictField()  # type: ignore[assignment]


class UpcomingSerializer(serializers.Serializer[Any]):
    at = TimestampField(allow_null=True, help_text=_("null: when a person or another system does its part"))
    what = serializers.CharField()
    kind = serializers.CharField(help_text=_("of the step it belongs to, as its id is"))
    id = IdField()


class RelatedSerializer(serializers.Serializer[Any]):
    correlation_id = serializers.CharField()
    what = serializers.CharField(help_text=_("what of this chain leads there"))


class TraceSerializer(serializers.Serializer[Any]):
    results = StepSerializer(many=True)
    standing = serializers.ChoiceField(
        list(Standing), allow_null=True, help_text=_("null: nothing is known about the id")
    )
    duration_ms = serializers.IntegerField(help_text=_("from the first step to the last"))
    upcoming = UpcomingSerializer(many=True, help_text=_("what is still to come, by time"))
    related = RelatedSerializer(many=True, help_text=_("other chains that this one comes from or goes on in"))
    truncated = serializers.BooleanField(help_text=_("whether there is more than is shown"))


class TraceView(ApiView):
    scopes = {"GET": Scope.OPERATIONS}

    @describe_call(
        operation_id="trace_get",
        summary="Trace a request",
        tags=["trace"],
        parameters=[
            OpenApiParameter("correlation_id", OpenApiTypes.STR, OpenApiParameter.PATH, pattern=PATTERN.pattern)
        ],
        responses=TraceSerializer,
    )
    def get(self, request: Request, correlation_id: str) -> Response:
        """List what one call, message or job caused, in order of time; at most 1000 of each kind.

        Beside the steps: how it ended, what is still to come and when, and the chains it is related to.

        A signal that was accepted and changed nothing has no step: it is in the history of its sensor, without the id
        of its call, and `GET /explain/` tells of it by sensor, client and time.

        Every answer carries its correlation id in the header `X-Correlation-ID`, and so do events, deliveries,
        receipts, alerts and change records: any of them leads here.
        """
        if not PATTERN.fullmatch(correlation_id):
            raise Invalid(
                {
                    "correlation_id": [
                        gettext("Must be 8 to 64 characters of A-Z, a-z, 0-9, dot, underscore and hyphen.")
                    ]
                }
            )
        # To a key its scope opens the whole chain; a member of staff sees of it what they may see elsewhere.
        is_key = isinstance(request.user, Principal)
        found = read_trace(correlation_id, may=lambda permission: is_key or request.user.has_perm(permission))
        return Response(TraceSerializer(_shape(found)).data)


def _shape(trace: Trace) -> dict[str, Any]:
    return {
        "results": [
            {**vars(step), "lane": step.lane, "after_ms": gap // MILLISECOND} for step, gap in trace.with_gaps()
        ],
        "standing": trace.outcome,
        "duration_ms": trace.duration // MILLISECOND,
        "upcoming": [
            {"at": coming.at, "what": coming.what, "kind": step.kind, "id": step.id} for coming, step in trace.upcoming
        ],
        "related": trace.related,
        "truncated": trace.is_cut,
    }
