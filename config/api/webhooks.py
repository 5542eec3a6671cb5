"""Webhooks in the OpenAPI document: what goes out, described like the calls that come in."""

from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiResponse, OpenApiWebhook, extend_schema, extend_schema_field
from rest_framework import serializers

from config.api.examples import load_examples

TAG = "webhooks"
TAKEN = "Any 2xx: the message was taken. The body is not read."

WEBHOOK_HEADERS = [
    {
        "name": "webhook-id",
        "in": "header",
        "required": True,
        "description": "Constant over all attempts of a message: whoever has stored it has had this message.",
        "schema": {"type": "string"},
    },
    {
        "name": "webhook-timestamp",
        "in": "header",
        "required": True,
        "description": "When this attempt was made, in seconds since 1970. Refuse what is older than five minutes.",
        "schema": {"type": "integer"},
    },
    {
        "name": "webhook-signature",
        "in": "header",
        "required": True,
        "description": "`v1,` and the base64 of HMAC-SHA256 over `{webhook-id}.{webhook-timestamp}.{body}`, by the "
        "bytes that follow `whsec_` in base64. During a rotation there are two, separated by a space: one must fit.",
        "schema": {"type": "string"},
    },
    {
        "name": "X-Correlation-ID",
        "in": "header",
        "description": "What caused it: `GET /trace/{correlation_id}/` shows the whole chain.",
        "schema": {"type": "string"},
    },
]
"""Those of Standard Webhooks, which every webhook carries, and the correlation id of a delivery."""


class WebhookSerializer(serializers.Serializer[Any]):
    version = serializers.IntegerField(min_value=1, max_value=1)


def constant(value: str) -> "serializers.Field[Any, Any, Any, Any]":
    """Return a field that always has this text."""

    @extend_schema_field({"type": "string", "const": value})
    class Constant(serializers.CharField):
        pass

    return Constant()


def describe_webhook(
    name: str, *, package: str, summary: str, description: str, body: Any, answer: Any = None
) -> OpenApiWebhook:
    """Describe a webhook; its example lies among those of a package of views, under its name."""
    return OpenApiWebhook(
        name,
        extend_schema(
            summary=summary,
            description=description,
            tags=[TAG],
            request=body,
            responses={200: answer or OpenApiResponse(description=TAKEN)},
            examples=[OpenApiExample(each.title, value=each.body) for each in load_examples(package).get(name, ())],
        ),
    )
