"""The shapes of the calls of coordination."""

from typing import Any

from rest_framework import serializers

from config.common.web.serializers import StrictSerializer, TimestampField
from processes.coordination.models import WriterEventReader
from processes.coordination.protocol.reasons import LONGEST
from processes.coordination.protocol.statuses import BY_TITLE
from processes.coordination.writer.resolution import Action

ROW = {"type": "object", "additionalProperties": {}, "description": "The fields of the entity, by name."}
"""Which they are depends on the entity; plugins add entities of their own."""


class AcceptedRowsSerializer(serializers.Serializer[Any]):
    """Of a list of rows the ids, in its order; of a new client also the secret, which is shown this once."""

    id = serializers.JSONField()
    event = serializers.IntegerField(allow_null=True)
    secret = serializers.JSONField(required=False)


class AcceptedSetSerializer(serializers.Serializer[Any]):
    """The ids of the rows in the order of the changes, and the event."""

    id = serializers.ListField(child=serializers.JSONField())
    event = serializers.IntegerField(allow_null=True)


class RowListSerializer(serializers.Serializer[Any]):
    results = serializers.ListField(child=serializers.DictField())
    next = serializers.URLField(allow_null=True)


class ReaderQuery(serializers.Serializer[Any]):
    reader = serializers.CharField(default="main", max_length=50)
    wait = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=2**63 - 1,
        help_text="an event: answer when this reader has it, within 10 seconds; after that 503, to be repeated",
    )


class EventQuery(serializers.Serializer[Any]):
    status = serializers.ChoiceField(sorted(BY_TITLE), required=False)


class ResolveEventSerializer(StrictSerializer):
    action = serializers.ChoiceField([action.value for action in Action])
    reason = serializers.CharField(max_length=LONGEST)


class PayloadCountSerializer(serializers.Serializer[Any]):
    total = serializers.IntegerField()
    processed = serializers.IntegerField()


class EventReaderSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    verdict = serializers.ChoiceField(WriterEventReader.Verdict.choices)
    reason = serializers.CharField(allow_blank=True)
    lag_seconds = serializers.FloatField()


class EventStepSerializer(serializers.Serializer[Any]):
    step = serializers.CharField()
    at = TimestampField()


class CoordinationEventSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    type = serializers.CharField()
    status = serializers.ChoiceField(sorted(BY_TITLE))
    payloads = PayloadCountSerializer()
    readers = EventReaderSerializer(many=True)
    steps = EventStepSerializer(many=True)
    correlation_id = serializers.CharField(allow_blank=True)
    date = TimestampField()
    reason = serializers.CharField(allow_blank=True)


class CoordinationEventListSerializer(serializers.Serializer[Any]):
    results = CoordinationEventSerializer(many=True)
    next = serializers.URLField(allow_null=True)
