"""The shapes of the history's calls: what is asked, what is answered, and in which form."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer

from config.common.web.serializers import PeriodQuery, TimestampField
from notifications.models import Delivery
from sensors.history.queries import PastSignal
from sensors.history.values import KINDS, PastEvent, format_many, format_milliseconds

FORMATS = ("json", "csv")


class CsvRenderer(BaseRenderer):
    """Lets a caller ask for a table; the answer itself is streamed."""

    media_type = "text/csv"
    format = "csv"

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        raise NotImplementedError("a table is streamed, never rendered at once")


class TableOrJson(DefaultContentNegotiation):
    """Take `?format=`; one that is not known is left to the call, which names the field."""

    def filter_renderers(self, renderers: Any, format: str) -> list[Any]:
        return [renderer for renderer in renderers if renderer.format == format] or list(renderers)


class HistoryQuery(PeriodQuery):
    changes = serializers.ChoiceField(["true", "false"], required=False, help_text=_("only changes of the state"))
    format = serializers.ChoiceField(FORMATS, required=False)


class SignalAnswer(msgspec.Struct, gc=False):
    sensor_id: str
    at: str
    data: int
    changed: bool
    id: str
    received_at: str


class HistoryRowSerializer(serializers.Serializer[Any]):
    sensor_id = serializers.CharField()
    at = TimestampField()
    data = serializers.ChoiceField([0, 1])  # type: ignore[assignment]
    changed = serializers.BooleanField(help_text=_("whether it changed the state"))
    id = serializers.CharField()
    received_at = TimestampField()


class HistoryListSerializer(serializers.Serializer[Any]):
    results = HistoryRowSerializer(many=True)
    next = serializers.URLField(allow_null=True)


class EventSerializer(serializers.Serializer[Any]):
    type = serializers.ChoiceField(KINDS)
    at = TimestampField()
    correlation_id = serializers.CharField()
    sensor_id = serializers.CharField()
    address = serializers.CharField()
    data = serializers.ChoiceField([0, 1], required=False)  # type: ignore[assignment]
    previous = serializers.ChoiceField([0, 1], required=False, allow_null=True)
    signal_id = serializers.CharField(required=False)
    last_seen_at = TimestampField(required=False)
    lost_at = TimestampField(required=False)
    downtime_seconds = serializers.IntegerField(required=False)
    muted = serializers.BooleanField(required=False)


class EventListSerializer(serializers.Serializer[Any]):
    results = EventSerializer(many=True)
    next = serializers.URLField(allow_null=True)


class AttemptSerializer(serializers.Serializer[Any]):
    at = TimestampField()
    url = serializers.CharField()
    status = serializers.IntegerField(allow_null=True)
    duration_ms = serializers.IntegerField()
    error = serializers.CharField(allow_null=True)


class DeliverySerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    type = serializers.CharField()
    sensor = serializers.CharField(allow_null=True)
    client = serializers.IntegerField(allow_null=True)
    status = serializers.ChoiceField(Delivery.Status.choices)
    reason = serializers.CharField()
    attempts = AttemptSerializer(many=True)
    next_attempt_at = TimestampField(allow_null=True)
    correlation_id = serializers.CharField()
    webhook_id = serializers.CharField(help_text=_("the header `webhook-id` of every attempt"))


class DeliveryListSerializer(serializers.Serializer[Any]):
    results = DeliverySerializer(many=True)
    next = serializers.URLField(allow_null=True)


class RejectedSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    code = serializers.CharField()
    message = serializers.CharField()
    sensor_id = serializers.CharField(help_text=_("as it was sent, or empty"))
    raw = serializers.CharField(help_text=_("the last such text, its first 1024 bytes"))
    count = serializers.IntegerField(help_text=_("how often within the minute"))
    minute = TimestampField()
    last_at = TimestampField()


class RejectedListSerializer(serializers.Serializer[Any]):
    results = RejectedSerializer(many=True)
    next = serializers.URLField(allow_null=True)


def present_signals(rows: Iterable[PastSignal]) -> msgspec.Raw:
    """Encode the rows at once, past the general encoder, which looks at every value of every row."""
    told = [(row.signal, row.changed) for row in rows]
    sent = format_many(signal.at for signal, _ in told)
    received = format_many(signal.received_at for signal, _ in told)
    answers = [
        SignalAnswer(signal.sensor_id, at, signal.data, changed, signal.id, received_at)
        for (signal, changed), at, received_at in zip(told, sent, received, strict=True)
    ]
    return msgspec.Raw(msgspec.json.encode(answers))


def present_event(event: PastEvent) -> dict[str, Any]:
    told = {"type": event.type, "at": format_milliseconds(event.at), "correlation_id": event.correlation_id}
    return told | {name: value for name, value in event.payload.items() if name not in told}
