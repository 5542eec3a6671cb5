"""`/sensors/{id}/history/`, `/events/` and the same of a client: signals and events, as pages and as CSV."""

from datetime import timedelta
from typing import Any

from django.http import StreamingHttpResponse
from django.utils import timezone
from django.utils.translation import gettext
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param

from config.access.scopes import Scope
from config.api.base_view import ApiView
from config.api.description import describe_call
from config.api.openapi import PAGE_PARAMETERS
from config.common.errors import Invalid
from config.common.times import to_milliseconds
from config.common.web.pagination import next_page_url, read_cursor, read_limit
from config.common.web.serializers import PeriodQuery
from config.common.web.tables import answer_table
from config.records.models import AccessKey
from sensors.api.registry import owner_of_sensors
from sensors.api.shapes import EventListSerializer, HistoryListSerializer, HistoryQuery, present_event, present_signals
from sensors.api.tables import CsvRenderer, TableOrJson
from sensors.errors import ClientNotFound, SensorNotFound
from sensors.history.csv_export import export_history, read_first_piece
from sensors.history.queries import read_changes, read_events, read_signals
from sensors.history.values import ClientSensors, Period, Sensors, format_milliseconds
from sensors.ingest.signals import AHEAD
from sensors.models import Client
from sensors.selectors import check_sensor, get_client

LONGEST_OF_CLIENT = timedelta(days=31)

QUESTIONS = frozenset({"from", "to", "changes", "format"})

READ = {"GET": Scope.HISTORY_READ}
CLIENTS_TOO = {"GET": {AccessKey.Kind.CLIENT}}
_HISTORY = {
    (200, "application/json"): HistoryListSerializer,
    (200, "text/csv"): OpenApiResponse(OpenApiTypes.STR, description="the same columns; all rows, streamed"),
}


class HistoryView(ApiView):
    scopes = READ
    key_kinds = CLIENTS_TOO
    renderer_classes = [*ApiView.renderer_classes, CsvRenderer]
    content_negotiation_class = TableOrJson


class SensorHistoryView(HistoryView):
    @describe_call(
        operation_id="sensors_history",
        summary="Read a sensor's history",
        tags=["history"],
        parameters=[HistoryQuery, *PAGE_PARAMETERS],
        responses=_HISTORY,
        errors=[SensorNotFound],
    )
    def get(self, request: Request, sensor_id: str) -> Response | StreamingHttpResponse:
        """List the signals of a sensor, newest first: all of them, or with `changes=true` those that changed its state.

        `format=csv` streams all rows of the period as a table.
        """
        check_sensor(sensor_id, owner=owner_of_sensors(request))
        asked = _read(HistoryQuery, request)
        return _answer_history(request, asked, [sensor_id], _period(asked))


class ClientHistoryView(HistoryView):
    @describe_call(
        operation_id="clients_history",
        summary="Read the history of a client's sensors",
        tags=["history"],
        parameters=[HistoryQuery, *PAGE_PARAMETERS],
        responses=_HISTORY,
        errors=[ClientNotFound],
    )
    def get(self, request: Request, client_id: int) -> Response | StreamingHttpResponse:
        """List the signals of a client's sensors, newest first; at most 31 days a call, by default the last 31.

        `format=csv` streams all rows of the period as a table.
        """
        check_client(request, client_id)
        asked = _read(HistoryQuery, request)
        now, seen = to_milliseconds(timezone.now()), read_cursor(request, _kind(asked))
        # The end of an open period is that of its first page, or a `next` that is followed late would name too long a
        # one: a signal is never further ahead of its receipt than `AHEAD`, so the cursor shows a time before that page.
        period = _bounded(_period(asked), end=now if seen is None else min(now, int(seen[0]) - AHEAD))
        return _answer_history(request, asked, ClientSensors(client_id), period)


class SensorEventsView(ApiView):
    scopes = READ
    key_kinds = CLIENTS_TOO

    @describe_call(
        operation_id="sensors_events",
        summary="List a sensor's events",
        tags=["history"],
        parameters=[PeriodQuery, *PAGE_PARAMETERS],
        responses=EventListSerializer,
        errors=[SensorNotFound],
    )
    def get(self, request: Request, sensor_id: str) -> Response:
        """List the changes of state, losses, restores and withdrawals of a sensor, newest first."""
        check_sensor(sensor_id, owner=owner_of_sensors(request))
        return _answer_events(request, [sensor_id])


class ClientEventsView(ApiView):
    scopes = READ
    key_kinds = CLIENTS_TOO

    @describe_call(
        operation_id="clients_events",
        summary="List the events of a client's sensors",
        tags=["history"],
        parameters=[PeriodQuery, *PAGE_PARAMETERS],
        responses=EventListSerializer,
        errors=[ClientNotFound],
    )
    def get(self, request: Request, client_id: int) -> Response:
        """List the changes of state, losses, restores and withdrawals of a client's sensors, newest first."""
        check_client(request, client_id)
        return _answer_events(request, ClientSensors(client_id))


def check_client(request: Request, client_id: int) -> Client:
    """Return the client; raise `ClientNotFound` unless it is there, and is the caller's own where a client calls."""
    owner = owner_of_sensors(request)
    if owner is not None and owner != client_id:
        raise ClientNotFound
    return get_client(client_id)


def _answer_history(
    request: Request, asked: dict[str, Any], sensors: Sensors, period: Period
) -> Response | StreamingHttpResponse:
    only_changes = asked.get("changes") == "true"
    if request.accepted_renderer.format == CsvRenderer.format:
        return answer_table(
            read_first_piece(export_history(sensors, period, only_changes=only_changes)), name="history.csv"
        )
    kind = _kind(asked)
    read: Any = read_changes if only_changes else read_signals
    limit, seen = read_limit(request), read_cursor(request, kind)
    rows = read(sensors, period, before=tuple(seen) if seen else None, limit=limit + 1)
    following = _next(request, kind, rows, limit, period)
    return Response({"results": present_signals(rows[:limit]), "next": following})


def _answer_events(request: Request, sensors: Sensors) -> Response:
    period = _period(_read(PeriodQuery, request))
    limit, seen = read_limit(request), read_cursor(request, "events")
    rows = read_events(sensors, period, before=(seen[0], seen[1]) if seen else None, limit=limit + 1)
    following = _next(request, "events", rows, limit, period)
    return Response({"results": [present_event(row) for row in rows[:limit]], "next": following})


def _next(request: Request, kind: str, rows: list[Any], limit: int, period: Period) -> str | None:
    """Return the address of the next page; it names the beginning of the period also where the caller did not."""
    if len(rows) <= limit:
        return None
    address = next_page_url(request, kind, rows[limit - 1].key)
    if period.start is None:
        return address
    return replace_query_param(address, "from", format_milliseconds(period.start))


def _read(form: type[PeriodQuery], request: Request) -> dict[str, Any]:
    if not QUESTIONS & request.query_params.keys():
        return {}
    asked = form(data=request.query_params)
    asked.is_valid(raise_exception=True)
    values: dict[str, Any] = asked.validated_data
    return values


def _period(asked: dict[str, Any]) -> Period:
    def time(name: str) -> int | None:
        return to_milliseconds(asked[name]) if name in asked else None

    return Period(time("from"), time("to"))


def _kind(asked: dict[str, Any]) -> str:
    return "history:changes" if asked.get("changes") == "true" else "history"


def _bounded(period: Period, *, end: int) -> Period:
    """Return a period within the limit for many sensors; one without a beginning gets the earliest allowed."""
    longest = LONGEST_OF_CLIENT // timedelta(milliseconds=1)
    end = period.end if period.end is not None else end
    if period.start is None:
        return Period(end - longest, period.end)
    if end - period.start > longest:
        raise Invalid({"from": [gettext("Must be at most 31 days before `to`, or before now.")]})
    return period
