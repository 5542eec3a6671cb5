"""`/statistics/`: totals of a period, from the app that counts them."""

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from config.access.scopes import Scope
from config.api.base_view import ApiView
from config.api.description import describe_call
from config.audit.statistics import BY, read_statistics
from config.common.errors import Invalid
from config.common.times import truncate_to_milliseconds
from config.common.web.serializers import PeriodQuery, TimestampField

USUAL, LONGEST = timedelta(days=30), timedelta(days=366)


class StatisticsQuery(PeriodQuery):
    by = serializers.ChoiceField(BY)

    def get_fields(self) -> Any:
        fields = super().get_fields()
        fields["from"].help_text = _("by default 30 days before `to`, at most 366")
        fields["to"].help_text = _("up to, not including; by default now")
        return fields


@extend_schema_field(
    {
        "type": "object",
        "required": ["id", "name"],
        "properties": {"id": {"oneOf": [{"type": "integer"}, {"type": "string"}]}, "name": {"type": "string"}},
        "additionalProperties": {},
    }
)
class FiguresField(serializers.Field[Any, Any, Any, Any]):
    def to_representation(self, value: Any) -> Any:
        return value


class StatisticsSerializer(serializers.Serializer[Any]):
    by = serializers.ChoiceField(BY)
    to = TimestampField()
    results = serializers.ListField(child=FiguresField())
    next = serializers.URLField(allow_null=True, help_text=_("always null: all rows come at once"))

    def get_fields(self) -> Any:
        return {"from": TimestampField(), **super().get_fields()}


class StatisticsView(ApiView):
    scopes = {"GET": Scope.OPERATIONS}

    @describe_call(
        operation_id="statistics_get",
        summary="Count what happened in a period",
        tags=["log"],
        parameters=[StatisticsQuery],
        responses=StatisticsSerializer,
    )
    def get(self, request: Request) -> Response:
        """Count what happened in a period, in order of id: at most 366 days, by default the last 30.

        By client: the messages that were created in it, `pending`, `delivered`, `dead`, `superseded` and `cancelled`
        as they are now, the attempts made so far as long as those are kept, and the mean seconds until delivery;
        clients without any are left out.
        """
        asked = StatisticsQuery(data=request.query_params)
        asked.is_valid(raise_exception=True)
        by, (start, end) = asked.validated_data["by"], _period(asked.validated_data, now=timezone.now())
        results = read_statistics(by, start, end)
        return Response({"by": by, "from": start, "to": end, "results": results, "next": None})


def _period(asked: dict[str, Any], *, now: datetime) -> tuple[datetime, datetime]:
    end = asked.get("to") or truncate_to_milliseconds(now)
    try:
        start = asked.get("from") or end - USUAL
    except OverflowError as error:
        raise Invalid({"to": [gettext("Must be a later time.")]}) from error
    if end - start > LONGEST:
        raise Invalid({"from": [gettext("Must be at most 366 days before `to`, or before now.")]})
    if start > end:
        raise Invalid({"from": [gettext("Must not be in the future.")]})
    return start, end
