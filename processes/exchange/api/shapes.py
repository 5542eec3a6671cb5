"""The shapes of the exchange calls as the document shows them: bodies are those of the structs that read them."""

from typing import Any

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from config.common.web.serializers import TimestampField
from config.common.web.struct_schema import serializer_for
from messaging.api.shapes import MessageSerializer
from messaging.protocol import Body
from processes.exchange.models import ExchangeProcess, ProcessMessage
from processes.exchange.services.decisions import Abandon, Accept, Interrupt, Resolve, RollBack
from processes.exchange.services.prepare import Prepare, Reply, ResultOf
from processes.exchange.services.start import Start

_VERSION = {"min_value": 1, "max_value": 1}
_RESULTS = [choice for choice in ProcessMessage.Result.choices if choice[0]]

VersionSerializer = serializer_for(Body, "Version", version=_VERSION)
StartSerializer = serializer_for(
    Start,
    version=_VERSION,
    request_id=serializers.RegexField(
        r"^[A-Za-z0-9._-]{1,64}$",
        required=False,
        help_text=_("the caller's own id for this call: repeat it with the same id to get a lost answer again"),
    ),
    subsystems={"help_text": _("none means all")},
    committed={"help_text": _("processes that the ERP found committed")},
)
AcceptSerializer = serializer_for(Accept, version=_VERSION)
ResultSerializer = serializer_for(
    ResultOf,
    "Result",
    status=serializers.ChoiceField(_RESULTS),
    error_text={"help_text": _("required with PROCESSED_INCORRECT")},
)
ReplySerializer = serializer_for(
    Reply,
    to={"help_text": _("the id of a device")},
    created_at=TimestampField(required=False),
)
PrepareSerializer = serializer_for(
    Prepare,
    version=_VERSION,
    results=ResultSerializer(many=True),
    replies=ReplySerializer(many=True, required=False),
)
RollBackSerializer = serializer_for(RollBack, version=_VERSION)
InterruptSerializer = serializer_for(Interrupt, version=_VERSION)
AbandonSerializer = serializer_for(
    Abandon, version=_VERSION, text={"help_text": _("why; after READY_TO_COMMIT it appears in the receipts")}
)
ResolveProcessSerializer = serializer_for(Resolve, "ResolveProcess", version=_VERSION)


class VersionedAnswerSerializer(serializers.Serializer[Any]):
    version = serializers.IntegerField(min_value=1, max_value=1)


class StartedSerializer(VersionedAnswerSerializer):
    status = serializers.ChoiceField(["OK", "IDLE", "BUSY"])
    process_id = serializers.UUIDField(required=False)
    messages = MessageSerializer(many=True, required=False)


class OutcomeSerializer(VersionedAnswerSerializer):
    status = serializers.ChoiceField(["OK", "CANCELLED"])


class EntrySerializer(serializers.Serializer[Any]):
    id = serializers.CharField()
    status = serializers.ChoiceField(_RESULTS, allow_null=True)


class LineSerializer(serializers.Serializer[Any]):
    at = TimestampField()
    text = serializers.CharField()


class ProcessSerializer(VersionedAnswerSerializer):
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
