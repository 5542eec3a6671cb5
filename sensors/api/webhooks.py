"""The webhooks about sensors, as the OpenAPI document shows them."""

from typing import Any

from rest_framework import serializers

from config.api.webhooks import WebhookSerializer, constant, describe_webhook
from config.common.web.serializers import TimestampField
from sensors import events

CONNECTIONS_LOST, CONNECTIONS_RESTORED = "sensor.connections_lost", "sensor.connections_restored"
_PACKAGE = "sensors.api"


class StateChangedWebhookSerializer(WebhookSerializer):
    type = constant(events.STATE_CHANGED)
    sensor_id = serializers.CharField()
    address = serializers.CharField()
    data = serializers.ChoiceField([0, 1])  # type: ignore[assignment]
    previous = serializers.ChoiceField([0, 1], allow_null=True)
    at = TimestampField()


class ConnectionLostWebhookSerializer(WebhookSerializer):
    type = constant(events.CONNECTION_LOST)
    sensor_id = serializers.CharField()
    address = serializers.CharField()
    last_seen_at = TimestampField()
    at = TimestampField()


class ConnectionRestoredWebhookSerializer(WebhookSerializer):
    type = constant(events.CONNECTION_RESTORED)
    sensor_id = serializers.CharField()
    address = serializers.CharField()
    data = serializers.ChoiceField([0, 1])  # type: ignore[assignment]
    lost_at = TimestampField()
    downtime_seconds = serializers.IntegerField()
    at = TimestampField()


class LossWithdrawnWebhookSerializer(WebhookSerializer):
    type = constant(events.LOSS_WITHDRAWN)
    sensor_id = serializers.CharField()
    address = serializers.CharField()
    lost_at = TimestampField()
    at = TimestampField()


class LeftOpenWebhookSerializer(WebhookSerializer):
    type = constant(events.LEFT_OPEN)
    sensor_id = serializers.CharField()
    address = serializers.CharField()
    data = serializers.ChoiceField([0, 1])  # type: ignore[assignment]
    opened_at = TimestampField()
    limit_seconds = serializers.IntegerField()
    at = TimestampField()


class LostSensorSerializer(serializers.Serializer[Any]):
    sensor_id = serializers.CharField()
    address = serializers.CharField()
    last_seen_at = TimestampField()


class ConnectionsLostWebhookSerializer(WebhookSerializer):
    type = constant(CONNECTIONS_LOST)
    at = TimestampField()
    sensors = LostSensorSerializer(many=True)


class RestoredSensorSerializer(serializers.Serializer[Any]):
    sensor_id = serializers.CharField()
    address = serializers.CharField()
    data = serializers.ChoiceField([0, 1])  # type: ignore[assignment]
    lost_at = TimestampField()
    downtime_seconds = serializers.IntegerField()


class ConnectionsRestoredWebhookSerializer(WebhookSerializer):
    type = constant(CONNECTIONS_RESTORED)
    at = TimestampField()
    sensors = RestoredSensorSerializer(many=True)


class PingWebhookSerializer(WebhookSerializer):
    type = constant("ping")
    at = TimestampField()


STATE_CHANGED = describe_webhook(
    events.STATE_CHANGED,
    package=_PACKAGE,
    summary="The state of a sensor has changed",
    description="A door was opened or closed. `previous` is null for the first known state. Only the newest state of "
    "a sensor is sent: one that still waits is superseded by a newer one.",
    body=StateChangedWebhookSerializer,
)
CONNECTION_LOST = describe_webhook(
    events.CONNECTION_LOST,
    package=_PACKAGE,
    summary="The connection to a sensor was lost",
    description="Nothing was received from a sensor for longer than its `heartbeat_timeout`.",
    body=ConnectionLostWebhookSerializer,
)
CONNECTION_RESTORED = describe_webhook(
    events.CONNECTION_RESTORED,
    package=_PACKAGE,
    summary="The connection to a sensor was restored",
    description="A lost sensor has sent a signal again; `downtime_seconds` count from `lost_at`.",
    body=ConnectionRestoredWebhookSerializer,
)
LOSS_WITHDRAWN = describe_webhook(
    events.LOSS_WITHDRAWN,
    package=_PACKAGE,
    summary="A loss was withdrawn",
    description="A signal from before the loss came late: the sensor had never been silent. No restore follows.",
    body=LossWithdrawnWebhookSerializer,
)
LEFT_OPEN = describe_webhook(
    events.LEFT_OPEN,
    package=_PACKAGE,
    summary="A door was left open",
    description="A door has been open for longer than the `open_limit` of its sensor.",
    body=LeftOpenWebhookSerializer,
)
MANY_LOST = describe_webhook(
    CONNECTIONS_LOST,
    package=_PACKAGE,
    summary="The connections to several sensors were lost",
    description="Five or more sensors of a client were found lost at once: one message instead of many, with at most "
    "200 sensors.",
    body=ConnectionsLostWebhookSerializer,
)
MANY_RESTORED = describe_webhook(
    CONNECTIONS_RESTORED,
    package=_PACKAGE,
    summary="The connections to several sensors were restored",
    description="Five or more sensors of a client were restored at once: one message instead of many, with at most "
    "200 sensors.",
    body=ConnectionsRestoredWebhookSerializer,
)
PING = describe_webhook(
    "ping",
    package=_PACKAGE,
    summary="A test of the URL",
    description="Somebody wants to know whether the URL answers: `POST /clients/{id}/ping/`. It is sent once.",
    body=PingWebhookSerializer,
)
