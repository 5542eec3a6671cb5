"""`POST /signals/`: the same rules as over AMQP; answered when the signals are durable."""

from typing import Any

from django.conf import settings
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from config.access.scopes import Scope
from config.api.base_view import ApiView
from config.common.correlation import correlation_id
from config.common.times import to_milliseconds
from sensors.heartbeat.clock import clock
from sensors.ingest.accept import accept_signals
from sensors.ingest.signals import Origin


class SignalsView(ApiView):
    scopes = {"POST": Scope.SIGNALS_WRITE}
    idempotent = False
    parser_classes = []

    @extend_schema(
        summary="Send one signal or a list of up to 1000",
        request={"application/json": {"type": "object"}},
        responses={202: {"type": "object", "properties": {"accepted": {"type": "integer"}}}},
    )
    def post(self, request: Request) -> Response:
        origin = Origin(received_at=to_milliseconds(clock.time()), correlation_id=correlation_id(), over_rest=True)
        return Response(accept_signals(request._request.body, origin, by_queue=bool(settings.AMQP_URL)), status=202)


urlpatterns: list[Any] = [path("signals/", SignalsView.as_view())]
