"""`/alerts/`: what staff must know of, and what they do about it."""

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from config.access.authentication import actor_of
from config.access.scopes import Scope
from config.api.base_view import ApiView
from config.api.description import describe_call
from config.api.openapi import PAGE_PARAMETERS
from config.common.web.pagination import paginate
from notifications.api.shapes import AlertListSerializer, AlertQuery, AlertSerializer, MuteSerializer, ResolveSerializer
from notifications.errors import AlertAcknowledged, AlertNotFound, AlertResolved, DecisionNeeded
from notifications.models import Alert
from notifications.services.alerts import acknowledge_alert, mute_alert, resolve_alert


class AlertsView(ApiView):
    scopes = {"GET": Scope.OPERATIONS}

    @describe_call(
        operation_id="alerts_list",
        summary="List alerts",
        tags=["alerts"],
        parameters=[AlertQuery, *PAGE_PARAMETERS],
        responses=AlertListSerializer,
    )
    def get(self, request: Request) -> Response:
        """List the alerts, newest first, all of them or those of one status."""
        asked = AlertQuery(data=request.query_params)
        asked.is_valid(raise_exception=True)
        found = paginate(request, Alert.objects.filter(**asked.validated_data), order=["-id"])
        return Response({"results": [_present(alert) for alert in found.results], "next": found.next})


class AcknowledgeView(ApiView):
    scopes = {"POST": Scope.OPERATIONS}

    @describe_call(
        operation_id="alerts_acknowledge",
        summary="Acknowledge an alert",
        tags=["alerts"],
        request=None,
        responses=AlertSerializer,
        errors=[AlertNotFound, AlertAcknowledged, AlertResolved],
    )
    def post(self, request: Request, alert_id: int) -> Response:
        """Take an alert on: it stays open, and nobody else is notified of it."""
        acknowledge_alert(alert_id, actor_of(request))
        return _answer(alert_id)


class ResolveView(ApiView):
    scopes = {"POST": Scope.OPERATIONS}

    @describe_call(
        operation_id="alerts_resolve",
        summary="Resolve an alert",
        tags=["alerts"],
        request=ResolveSerializer,
        responses=AlertSerializer,
        errors=[AlertNotFound, AlertResolved, DecisionNeeded],
    )
    def post(self, request: Request, alert_id: int) -> Response:
        """Close an alert, with a note of what was done; if its cause comes again, that is a new alert.

        Refused with 409 `decision_needed` where the alert stands for a decision that is still to be made (a process
        FAILED or in doubt, a failed compensation, an incident, an exhausted session): `data.page` is where to make it.
        """
        asked = ResolveSerializer(data=request.data or {})
        asked.is_valid(raise_exception=True)
        resolve_alert(alert_id, actor_of(request), asked.validated_data.get("note", ""))
        return _answer(alert_id)


class MuteView(ApiView):
    scopes = {"POST": Scope.OPERATIONS}

    @describe_call(
        operation_id="alerts_mute",
        summary="Mute an alert",
        tags=["alerts"],
        request=MuteSerializer,
        responses=AlertSerializer,
        errors=[AlertNotFound, AlertResolved],
    )
    def post(self, request: Request, alert_id: int) -> Response:
        """Notify nobody of an alert for so many seconds, also when it closes and comes again meanwhile."""
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
