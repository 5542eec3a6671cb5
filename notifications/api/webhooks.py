"""The webhook that repeats a session, as the OpenAPI document shows it."""

from typing import Any

from rest_framework import serializers

from config.api.webhooks import WebhookSerializer, describe_webhook
from notifications.api.shapes import SessionSerializer, VerdictSerializer

REPEAT_NAME = "session.repeat"


class RepeatWebhookSerializer(WebhookSerializer):
    session = SessionSerializer()
    fence = serializers.IntegerField(help_text="rises with every repeat: a late call has a lower one")
    verdicts = VerdictSerializer(many=True)


class OperationSerializer(serializers.Serializer[Any]):
    op = serializers.ChoiceField(["append", "rewrite", "delete", "finish"])
    records = serializers.ListField(
        child=serializers.JSONField(allow_null=True), required=False, help_text="of append and rewrite"
    )


class OperationsSerializer(serializers.Serializer[Any]):
    operations = OperationSerializer(many=True)


REPEAT = describe_webhook(
    REPEAT_NAME,
    package="notifications.api",
    summary="A session is to be repeated",
    description="A saved session is due: its theme's URL is asked what to do, and called again with the verdicts on "
    "its operations until it answers `delete`, `finish` or an empty list, at most 100 times. `delete` and an empty "
    "list are success: the session is deleted. `finish`, an answer that is not 2xx, a time-out or any other body is a "
    "failed repeat: the session is saved again.",
    body=RepeatWebhookSerializer,
    answer=OperationsSerializer,
)
