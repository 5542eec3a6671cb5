"""`/alerts/`: what staff must know of, and what they do about it."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from config.access.authentication import actor_of
from config.access.scopes import Scope
from config.api.base_view import ApiView
from config.api.openapi import PAGE_PARAMETERS
from config.common.web.pagination import paginate
from notifications.api.shapes import AlertListSerializer, AlertQuery, AlertSerializer, MuteSerializer, ResolveSerializer
from notifications.errors import AlertNotFound
from notifications.models import Alert
from notifications.services.alerts import acknowledge_alert, mute_alert, resolve_alert


class AlertsView(ApiView):
    scopes = {"GET": Scope.OPERATIONS}

    @extend_schema(
        operation_id="alerts_list",
        tags=["alerts"],
        parameters=[AlertQuery, *PAGE_PARAMETERS],
        responses=AlertListSerializer,
    )
    def get(self, request: Request) -> Response:
        """List the alerts, newest first."""
        asked = AlertQuery(data=request.query_params)
        asked.is_valid(raise_exception=True)
        found = paginate(request, Alert.objects.filter(**asked.validated_data), order=["-id"])
        return Response({"results": [_present(alert) for alert in found.results], "next": found.next})


class AcknowledgeView(ApiView):
    scopes = {"POST": Scope.OPERATIONS}

    @extend_schema(operation_id="alerts_acknowledge", tags=["alerts"], request=None, responses=AlertSerializer)
    def post(self, request: Request, alert_id: int) -> Response:
        """Take an alert on: nobody else is called for it."""
        acknowledge_alert(alert_id, actor_of(request))
        return _answer(alert_id)


class ResolveView(ApiView):
    scopes = {"POST": Scope.OPERATIONS}

    @extend_schema(operation_id="alerts_resolve", tags=["alerts"], request=ResolveSerializer, responses=AlertSerializer)
    def post(self, request: Request, alert_id: int) -> Response:
        """Close an alert; if its fact comes again, that is a new one.

        Refused with 409 `decision_needed` where the alert stands for a decision that is still to be made (a process
        FAILED or in doubt, a failed compensation, an incident, an exhausted session): `data.page` is where that is.
        """
        asked = ResolveSerializer(data=request.data or {})
        asked.is_valid(raise_exception=True)
        resolve_alert(alert_id, actor_of(request), asked.validated_data.get("note", ""))
        return _answer(alert_id)


class MuteView(ApiView):
    scopes = {"POST": Scope.OPERATIONS}

    @extend_schema(operation_id="alerts_mute", tags=["alerts"], request=MuteSerializer, responses=AlertSerializer)
    def post(self, request: Request, alert_id: int) -> Response:
        """Tell nobody about an alert for a time, also when it closes and comes again."""
        asked = MuteSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        mute_alert(alert_id, actor_of(request), asked.validated_data["seconds"])
        return _answer(alert_id)


def _answer(alert_id: int) -> Response:
    alert = Alert.objects.filter(pk=alert_id).first()
    if alert is None:
        raise AlertNotFound
    return Response(_present(alert))


def _present(alert: Alert) -> dict[str, Any]:
    return dict(AlertSerializer(alert).data)
