"""`/statistics/`: totals of a period, from the app that counts them."""

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiParameter, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param

from config.access.scopes import Scope
from config.api.base_view import ApiView
from config.api.description import describe_call
from config.api.openapi import CURSOR
from config.audit.statistics import BY, Figures, read_statistics
from config.common.errors import Invalid
from config.common.times import format_time, truncate_to_milliseconds
from config.common.web.pagination import (
    LARGEST_LIMIT,
    PAGE_BYTES,
    collect_page,
    next_page_url,
    read_cursor,
    read_limit,
    weigh_rows,
)
from config.common.web.serializers import PeriodQuery, TimestampField

USUAL, LONGEST = timedelta(days=30), timedelta(days=366)
STATISTICS_PAGE = [OpenApiParameter("limit", int, description="1 to 1000 rows, by default 1000"), CURSOR]
"""Most callers read one answer: without a limit it has as many rows as a page may have."""


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
    next = serializers.URLField(allow_null=True)

    def get_fields(self) -> Any:
        return {"from": TimestampField(), **super().get_fields()}


class StatisticsView(ApiView):
    scopes = {"GET": Scope.OPERATIONS}

    @describe_call(
        operation_id="statistics_get",
        summary="Count what happened in a period",
        tags=["log"],
        parameters=[StatisticsQuery, *STATISTICS_PAGE],
        responses=StatisticsSerializer,
    )
    def get(self, request: Request) -> Response:
        """Count what happened in a period, in order of id: at most 366 days, by default the last 30.

        By client: the messages that were created in it, `pending`, `delivered`, `dead`, `superseded` and `cancelled`
        as they are now, the attempts made so far, and the mean seconds until delivery; clients without any are left
        out. On PostgreSQL messages and attempts that are no longer kept still count, for 400 days.
        """
        asked = StatisticsQuery(data=request.query_params)
        asked.is_valid(raise_exception=True)
        by, (start, end) = asked.validated_data["by"], _period(asked.validated_data, now=timezone.now())
        limit, seen = read_limit(request, default=LARGEST_LIMIT), read_cursor(request, f"statistics:{by}")
        rows = read_statistics(by, start, end)
        if seen is not None:
            rows = [row for row in rows if _key(row) > seen[0]]
        results, more = collect_page(rows, limit=limit, weigh=weigh_rows, most_bytes=PAGE_BYTES)
        following = _next(request, by, results[-1], start, end) if more else None
        return Response({"by": by, "from": start, "to": end, "results": results, "next": following})


def _key(row: Figures) -> int | str:
    """Return the id of a row as a cursor holds it; texts are in the order of what they stand for."""
    return row["id"] if isinstance(row["id"], int) else str(row["id"])


def _next(request: Request, by: str, last: Figures, start: datetime, end: datetime) -> str:
    """Return the address of the next page; it names the period of this one, also where the caller did not."""
    address = next_page_url(request, f"statistics:{by}", [_key(last)])
    for name, at in (("from", start), ("to", end)):
        address = replace_query_param(address, name, format_time(at))
    return str(address)


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
