"""`POST /signals/`, by the same rules as over AMQP, and `GET /signals/rejected/`."""

from django.conf import settings
from django.db.models import F
from rest_framework.request import Request
from rest_framework.response import Response

from config.access.scopes import Scope
from config.api.base_view import ApiView
from config.api.description import describe_call
from config.api.openapi import PAGE_PARAMETERS
from config.common.correlation import correlation_id
from config.common.times import to_milliseconds
from config.common.web.pagination import paginate
from sensors.api.history import READ
from sensors.api.shapes import AcceptedSignalsSerializer, RejectedListSerializer, SignalsBody
from sensors.heartbeat.clock import clock
from sensors.ingest.accept import accept_signals
from sensors.ingest.signals import Origin
from sensors.models import RejectedSignal

REJECTED_COLUMNS = ("id", "code", "message", "sensor_id", "raw", "count", "minute", "last_at", "correlation_id")


class SignalsView(ApiView):
    scopes = {"POST": Scope.SIGNALS_WRITE}
    idempotent = False  # signals have ids of their own
    parser_classes = []
    reads_body_itself = True

    @describe_call(
        operation_id="signals_send",
        needs_body=True,
        summary="Send signals",
        tags=["signals"],
        request={"application/json": SignalsBody},
        responses={202: AcceptedSignalsSerializer},
    )
    def post(self, request: Request) -> Response:
        """Send one signal, or a list of up to 1000. The answer comes when they are durable.

        A signal is `(sensor_id, at, id)`: a repeat of all three counts as accepted and does nothing, so a call
        without an answer is repeated as it is. Without `at` it is the time of receipt, without `id` one is made; an
        `id` needs its `at`.

        What cannot be used is listed in `rejected` with its place and a code (`unknown_sensor`, `inactive_sensor`,
        `bad_data`, `bad_time`, `from_the_future`, `bad_shape`); the others are accepted all the same.
        """
        origin = Origin(received_at=to_milliseconds(clock.time()), correlation_id=correlation_id(), over_rest=True)
        return Response(accept_signals(request._request.body, origin, by_queue=bool(settings.AMQP_URL)), status=202)


class RejectedSignalsView(ApiView):
    scopes = READ

    @describe_call(
        operation_id="signals_rejected",
        summary="List rejected signals",
        tags=["signals"],
        parameters=PAGE_PARAMETERS,
        responses=RejectedListSerializer,
    )
    def get(self, request: Request) -> Response:
        """List the signals that were refused, newest first, with the reason and the text as it was sent.

        Equal refusals within a minute are one row with their number in `count`.
        """
        rows = RejectedSignal.objects.annotate(minute=F("recorded_at")).values(*REJECTED_COLUMNS)
        found = paginate(request, rows, order=["-id"])
        return Response({"results": found.results, "next": found.next})
