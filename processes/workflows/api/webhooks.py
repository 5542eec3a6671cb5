"""The webhook that a workflow sends, as the OpenAPI document shows it."""

from rest_framework import serializers

from config.api.webhooks import WebhookSerializer, constant, describe_webhook
from config.common.web.serializers import TimestampField
from processes.workflows.services.effects.handlers import WEBHOOK_TYPE


class WorkflowMessageWebhookSerializer(WebhookSerializer):
    type = constant(WEBHOOK_TYPE)
    definition = serializers.CharField()
    instance = serializers.UUIDField()
    record = serializers.CharField()
    element = serializers.CharField(help_text="the task that sends it")
    payload = serializers.JSONField(help_text="what the task has as `payload`, or all its inputs")
    at = TimestampField()


MESSAGE = describe_webhook(
    WEBHOOK_TYPE,
    package="processes.workflows.api",
    summary="A workflow sends a message",
    description="A service or send task with the handler `webhook` was reached: its inputs go to the client it names.",
    body=WorkflowMessageWebhookSerializer,
)
