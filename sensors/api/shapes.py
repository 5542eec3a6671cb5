"""The shapes of the sensors' API: serializers read what comes in, structs that encode themselves are what goes out."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from config.common.times import format_time
from config.common.web.serializers import BoundedListField, PeriodQuery, StrictSerializer, TimestampField
from config.common.web.struct_schema import page_serializer, serializer_for
from notifications.models import Attempt, Delivery
from sensors.events import EVENT_TYPES
from sensors.heartbeat.ingest_liveness import is_outage
from sensors.history.queries import PastSignal
from sensors.history.values import PastEvent, format_many, format_milliseconds
from sensors.models import Client
from sensors.models.registry import LONGEST_TIMEOUT, SENSOR_ID
from sensors.selectors import Connection, SensorRow, clients_of, connection_of
from sensors.services.clients import values_of
from sensors.services.rules import LONGEST_ADDRESS, LONGEST_NAME, LONGEST_NOTES, LONGEST_URL, MOST_CLIENTS

FORMATS = ("json", "csv")


class SensorAnswer(msgspec.Struct):
    id: str
    address: str
    notes: str
    active: bool
    heartbeat_timeout: int
    muted_until: str | None
    clients: list[int]
    state: int | None
    state_changed_at: str | None
    last_seen_at: str | None
    connection: str


class ClientAnswer(msgspec.Struct, omit_defaults=True):
    id: int
    name: str
    url: str
    active: bool
    paused: bool
    muted_until: str | None
    secret: str = ""
    """Only in the answer to the call that made the client."""


class HistoryRow(msgspec.Struct, gc=False):
    sensor_id: str
    at: str
    data: int
    changed: bool
    id: str
    received_at: str


class AttemptAnswer(msgspec.Struct):
    at: str
    url: str
    status: int | None
    duration_ms: int
    error: str | None


class DeliveryAnswer(msgspec.Struct):
    id: int
    type: str
    sensor: str | None
    client: int | None
    status: str
    reason: str
    attempts: list[AttemptAnswer]
    next_attempt_at: str | None
    correlation_id: str
    webhook_id: str


class SensorSerializer(StrictSerializer):
    id = serializers.RegexField(
        rf"^{SENSOR_ID}\Z",
        max_length=16,
        trim_whitespace=False,
        error_messages={"invalid": _("Must be 1 to 16 letters and digits.")},
    )
    address = serializers.CharField(max_length=LONGEST_ADDRESS)
    notes = serializers.CharField(max_length=LONGEST_NOTES, required=False, allow_blank=True)
    active = serializers.BooleanField(required=False)
    heartbeat_timeout = serializers.IntegerField(min_value=1, max_value=LONGEST_TIMEOUT, required=False)
    muted_until = TimestampField(required=False, allow_null=True)
    clients = BoundedListField(
        child=serializers.IntegerField(min_value=1, max_value=2**63 - 1), max_length=MOST_CLIENTS, required=False
    )
    state = serializers.ChoiceField([0, 1], read_only=True, allow_null=True)
    state_changed_at = TimestampField(read_only=True, allow_null=True)
    last_seen_at = TimestampField(read_only=True, allow_null=True)
    connection = serializers.ChoiceField(Connection.choices, read_only=True)


class SensorEditSerializer(SensorSerializer):
    """As above; the id may be repeated, but not changed."""

    def validate_id(self, value: str) -> str:
        if value != self.context["id"]:
            raise serializers.ValidationError(gettext("The id of a sensor cannot be changed."))
        return value


class ClientSerializer(StrictSerializer):
    id = serializers.IntegerField(read_only=True)
    name = serializers.CharField(max_length=LONGEST_NAME)
    url = serializers.CharField(max_length=LONGEST_URL)
    active = serializers.BooleanField(required=False)
    paused = serializers.BooleanField(required=False)
    muted_until = TimestampField(required=False, allow_null=True)


class NewClientSerializer(ClientSerializer):
    secret = serializers.CharField(read_only=True)


class SecretSerializer(serializers.Serializer[Any]):
    secret = serializers.CharField()


class SensorQuery(serializers.Serializer[Any]):
    """What `GET /sensors/` filters by."""

    search = serializers.CharField(required=False, max_length=200, help_text=_("part of an id, address or client name"))
    client = serializers.IntegerField(required=False, min_value=1, max_value=2**63 - 1)
    connection = serializers.ChoiceField(Connection.choices, required=False)
    state = serializers.ChoiceField([0, 1], required=False)
    active = serializers.BooleanField(required=False)


class ImportReportSerializer(serializers.Serializer[Any]):
    dry_run = serializers.BooleanField()
    created = serializers.IntegerField()
    changed = serializers.IntegerField()
    unchanged = serializers.IntegerField()


class HistoryQuery(PeriodQuery):
    changes = serializers.ChoiceField(["true", "false"], required=False, help_text=_("only changes of the state"))
    format = serializers.ChoiceField(FORMATS, required=False)


class EventSerializer(serializers.Serializer[Any]):
    type = serializers.ChoiceField(EVENT_TYPES)
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


class RejectedSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    code = serializers.CharField()
    message = serializers.CharField()
    sensor_id = serializers.CharField(help_text=_("as it was sent, or empty"))
    raw = serializers.CharField(help_text=_("the last such text, its first 1024 bytes"))
    count = serializers.IntegerField(help_text=_("how often within the minute"))
    minute = TimestampField()
    last_at = TimestampField()


HistoryRowSerializer = serializer_for(
    HistoryRow,
    at=TimestampField(),
    data=serializers.ChoiceField([0, 1]),
    changed={"help_text": _("whether it changed the state")},
    received_at=TimestampField(),
)
AttemptSerializer = serializer_for(AttemptAnswer, "Attempt", at=TimestampField())
DeliverySerializer = serializer_for(
    DeliveryAnswer,
    "Delivery",
    status=serializers.ChoiceField(Delivery.Status.choices),
    attempts=AttemptSerializer(many=True),
    next_attempt_at=TimestampField(allow_null=True),
    webhook_id={"help_text": _("the header `webhook-id` of every attempt")},
)
SensorListSerializer = page_serializer(SensorSerializer)
ClientListSerializer = page_serializer(ClientSerializer)
HistoryListSerializer = page_serializer(HistoryRowSerializer, "HistoryList")
EventListSerializer = page_serializer(EventSerializer)
DeliveryListSerializer = page_serializer(DeliverySerializer)
RejectedListSerializer = page_serializer(RejectedSerializer)


def present_sensors(rows: Sequence[SensorRow], *, owner: int | None = None) -> list[SensorAnswer]:
    """Return the answers for rows of sensors; a client (`owner`) sees itself alone among their clients."""
    clients, outage = clients_of([row[0] for row in rows], owner=owner), is_outage()
    answers = []
    for pk, address, notes, active, timeout, muted_until, state, changed_at, seen_at, lost_at in rows:
        connection = connection_of(active=active, seen=seen_at is not None, lost=lost_at is not None, outage=outage)
        answers.append(
            SensorAnswer(
                pk,
                address,
                notes,
                active,
                timeout,
                muted_until,
                clients.get(pk, []),
                state,
                changed_at,
                seen_at,
                connection.value,
            )
        )
    return answers


def present_client(client: Client, *, secret: str = "") -> ClientAnswer:
    values = values_of(client)
    muted_until = None if values.muted_until is None else format_time(values.muted_until)
    return ClientAnswer(client.pk, values.name, values.url, values.active, values.paused, muted_until, secret)


def present_attempt(attempt: Attempt) -> AttemptAnswer:
    at, error = format_time(attempt.at), attempt.error or None
    return AttemptAnswer(at, attempt.url, attempt.status, attempt.duration_ms, error)


def present_signals(rows: Iterable[PastSignal]) -> msgspec.Raw:
    """Encode the rows at once, past the general encoder, which looks at every value of every row."""
    signals = [(row.signal, row.changed) for row in rows]
    sent = format_many(signal.at for signal, _ in signals)
    received = format_many(signal.received_at for signal, _ in signals)
    answers = [
        HistoryRow(signal.sensor_id, at, signal.data, changed, signal.id, received_at)
        for (signal, changed), at, received_at in zip(signals, sent, received, strict=True)
    ]
    return msgspec.Raw(msgspec.json.encode(answers))


def present_event(event: PastEvent) -> dict[str, Any]:
    answer = {"type": event.type, "at": format_milliseconds(event.at), "correlation_id": event.correlation_id}
    return answer | {name: value for name, value in event.payload.items() if name not in answer}
