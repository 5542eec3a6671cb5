"""The shapes of the exchange calls as the schema shows them; bodies are read by the structs of the services."""

from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers

from config.common.web.serializers import TimestampField
from messaging.api.shapes import MessageSerializer
from processes.exchange.models import ExchangeProcess, ProcessMessage

START_EXAMPLE = OpenApiExample(
    "begin, or ask for the same answer again",
    value={"version": 1, "max_files": 10, "request_id": "erp-1.2026-11-18.0042"},
    request_only=True,
)
BUSY_EXAMPLE = OpenApiExample(
    "the lane is held",
    value={"version": 1, "status": "BUSY", "process_id": "0d6f6c1e-6f5b-4a52-9b55-6a3f3d0f7c11"},
    response_only=True,
)
ABANDON_EXAMPLE = OpenApiExample("give up", value={"version": 1, "text": "the ERP was restarted"}, request_only=True)
OK_EXAMPLE = OpenApiExample("it is over", value={"version": 1, "status": "OK"}, response_only=True)
CANCELLED_EXAMPLE = OpenApiExample(
    "it had been decided already", value={"version": 1, "status": "CANCELLED"}, response_only=True
)
_RESULTS = [choice for choice in ProcessMessage.Result.choices if choice[0]]


class VersionSerializer(serializers.Serializer[Any]):
    version = serializers.IntegerField(min_value=1, max_value=1)


class StartSerializer(VersionSerializer):
    subsystems = serializers.ListField(child=serializers.CharField(), required=False, help_text=_("none means all"))
    senders = serializers.ListField(child=serializers.CharField(), required=False)
    max_files = serializers.IntegerField(min_value=1, required=False)
    max_mb = serializers.FloatField(min_value=1, required=False)
    committed = serializers.ListField(
        child=serializers.CharField(), required=False, help_text=_("processes that the ERP found committed")
    )

    request_id = serializers.RegexField(
        r"^[A-Za-z0-9._-]{1,64}$",
        required=False,
        help_text=_("the caller's own id of this call: with the same one a lost answer is asked for again"),
    )


class StartedSerializer(VersionSerializer):
    status = serializers.ChoiceField(["OK", "IDLE", "BUSY"])
    process_id = serializers.UUIDField(required=False)
    messages = MessageSerializer(many=True, required=False)


class AcceptSerializer(VersionSerializer):
    messages = serializers.ListField(child=serializers.CharField())


class ResultSerializer(serializers.Serializer[Any]):
    message = serializers.CharField()
    status = serializers.ChoiceField(_RESULTS)
    error_text = serializers.CharField(required=False, help_text=_("required with PROCESSED_INCORRECT"))
    error_code = serializers.IntegerField(required=False)


class ReplySerializer(serializers.Serializer[Any]):
    to = serializers.CharField(help_text=_("the id of a device"))
    reply_to = serializers.CharField(required=False)
    payload = serializers.JSONField()
    created_at = TimestampField(required=False)
    id = serializers.CharField(required=False)


class PrepareSerializer(VersionSerializer):
    results = ResultSerializer(many=True)
    replies = ReplySerializer(many=True, required=False)


class RollBackSerializer(VersionSerializer):
    error_text = serializers.CharField()


class InterruptSerializer(VersionSerializer):
    text = serializers.CharField()


class AbandonSerializer(VersionSerializer):
    text = serializers.CharField(required=False, help_text=_("why; after READY_TO_COMMIT it stands in the receipts"))


class ResolveProcessSerializer(VersionSerializer):
    committed = serializers.BooleanField()


class OutcomeSerializer(VersionSerializer):
    status = serializers.ChoiceField(["OK", "CANCELLED"])


class EntrySerializer(serializers.Serializer[Any]):
    id = serializers.CharField()
    status = serializers.ChoiceField(_RESULTS, allow_null=True)


class LineSerializer(serializers.Serializer[Any]):
    at = TimestampField()
    text = serializers.CharField()


class ProcessSerializer(VersionSerializer):
    id = serializers.UUIDField()
    database = serializers.CharField()
    status = serializers.ChoiceField(ExchangeProcess.Status.choices)
    started_at = TimestampField()
    ready_at = TimestampField(allow_null=True)
    ended_at = TimestampField(allow_null=True)
    messages = EntrySerializer(many=True)
    replies = serializers.ListField(child=serializers.CharField())
    log = LineSerializer(many=True)
    correlation_id = serializers.CharField()


class ProcessListSerializer(serializers.Serializer[Any]):
    results = ProcessSerializer(many=True)
    next = serializers.CharField(allow_null=True)
