"""`POST /signals/`, by the same rules as over AMQP, and `GET /signals/rejected/`."""

from django.conf import settings
from django.db.models import F
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from config.access.scopes import Scope
from config.api.base_view import ApiView
from config.api.openapi import PAGE_PARAMETERS
from config.common.correlation import correlation_id
from config.common.times import to_milliseconds
from config.common.web.pagination import paginate
from sensors.api.history import READ
from sensors.api.shapes import RejectedListSerializer
from sensors.heartbeat.clock import clock
from sensors.ingest.accept import accept_signals
from sensors.ingest.signals import Origin
from sensors.models import RejectedSignal

REJECTED_COLUMNS = ("id", "code", "message", "sensor_id", "raw", "count", "minute", "last_at")


class SignalsView(ApiView):
    scopes = {"POST": Scope.SIGNALS_WRITE}
    idempotent = False  # signals have ids of their own
    parser_classes = []  # the ingest decodes the body straight into its types

    @extend_schema(
        summary="Send one signal or a list of up to 1000",
        request={"application/json": {"type": "object"}},
        responses={202: {"type": "object", "properties": {"accepted": {"type": "integer"}}}},
    )
    def post(self, request: Request) -> Response:
        origin = Origin(received_at=to_milliseconds(clock.time()), correlation_id=correlation_id(), over_rest=True)
        return Response(accept_signals(request._request.body, origin, by_queue=bool(settings.AMQP_URL)), status=202)


class RejectedSignalsView(ApiView):
    scopes = READ

    @extend_schema(
        operation_id="signals_rejected",
        tags=["signals"],
        parameters=PAGE_PARAMETERS,
        responses=RejectedListSerializer,
    )
    def get(self, request: Request) -> Response:
        """List what was refused, with the reason; equal refusals within a minute are one row with their number."""
        rows = RejectedSignal.objects.annotate(minute=F("recorded_at")).values(*REJECTED_COLUMNS)
        found = paginate(request, rows, order=["-id"])
        return Response({"results": found.results, "next": found.next})
