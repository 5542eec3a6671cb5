"""`/alerts/`: what staff must know of, and what they do about it."""

from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from config.access.authentication import actor_of
from config.access.scopes import Scope
from config.api.base_view import ApiView
from config.api.openapi import PAGE_PARAMETERS
from config.common.web.pagination import paginate
from config.common.web.serializers import StrictSerializer, TimestampField
from notifications.errors import AlertNotFound
from notifications.models import Alert
from notifications.services.alerts import acknowledge_alert, mute_alert, resolve_alert

LONGEST_MUTE = 30 * 86_400


class AlertQuery(serializers.Serializer[Any]):
    status = serializers.ChoiceField(Alert.Status.choices, required=False, help_text=_("by default every alert"))


class AlertSerializer(serializers.Serializer[Alert]):
    id = serializers.IntegerField()
    kind = serializers.CharField()
    subject = serializers.CharField()
    title = serializers.CharField(source="words")
    detail = serializers.DictField()
    status = serializers.ChoiceField(Alert.Status.choices)
    count = serializers.IntegerField(help_text=_("how often it was raised since it was first"))
    first_at = TimestampField()
    last_at = TimestampField()
    acknowledged_by = serializers.CharField()
    acknowledged_at = TimestampField(allow_null=True)
    resolved_by = serializers.CharField(help_text=_("empty when it closed by itself"))
    resolved_at = TimestampField(allow_null=True)
    resolution = serializers.CharField()
    muted_until = TimestampField(allow_null=True)
    correlation_id = serializers.CharField()


class AlertListSerializer(serializers.Serializer[Any]):
    results = AlertSerializer(many=True)
    next = serializers.CharField(allow_null=True)


class ResolveSerializer(StrictSerializer):
    note = serializers.CharField(required=False, allow_blank=True, max_length=200, help_text=_("what was done"))


class MuteSerializer(StrictSerializer):
    seconds = serializers.IntegerField(min_value=1, max_value=LONGEST_MUTE)


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
