"""The shapes of the sensors' API: serializers read what comes in, structs that encode themselves are what goes out."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import msgspec
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import PolymorphicProxySerializer
from rest_framework import serializers
from rest_framework.request import Request

from config.common.errors import Invalid
from config.common.times import format_time
from config.common.web.serializers import BoundedListField, PeriodQuery, StrictSerializer, TimestampField
from config.common.web.struct_schema import page_serializer, serializer_for
from notifications.models import Attempt, Delivery
from sensors.as_of import PastClient, PastLink, PastSensor, check_past
from sensors.events import EVENT_TYPES
from sensors.heartbeat.ingest_liveness import is_outage
from sensors.history.as_of import PastState
from sensors.history.queries import PastSignal
from sensors.history.values import PastEvent, format_many, format_milliseconds
from sensors.ingest.signals import SIGNAL_ID, Code, SentSignal
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
    open_limit: int | None
    muted_until: str | None
    clients: list[int]
    state: int | None
    state_changed_at: str | None
    last_seen_at: str | None
    connection: str


class PastSensorAnswer(SensorAnswer):
    as_of: str


class LinkAnswer(msgspec.Struct):
    sensor_id: str
    client_id: int
    linked: bool
    since: str | None
    as_of: str


class PastClientAnswer(msgspec.Struct):
    id: int
    name: str
    url: str
    active: bool
    paused: bool
    muted_until: str | None
    sensors: list[str]
    sensor_count: int
    as_of: str


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
    open_limit = serializers.IntegerField(
        min_value=1,
        max_value=LONGEST_TIMEOUT,
        required=False,
        allow_null=True,
        help_text=_("seconds that the door may stay open before it is reported; null: no limit"),
    )
    muted_until = TimestampField(required=False, allow_null=True)
    clients = BoundedListField(
        child=serializers.IntegerField(min_value=1, max_value=2**63 - 1), max_length=MOST_CLIENTS, required=False
    )
    state = serializers.ChoiceField([0, 1], read_only=True, allow_null=True)
    state_changed_at = TimestampField(read_only=True, allow_null=True)
    last_seen_at = TimestampField(read_only=True, allow_null=True)
    connection = serializers.ChoiceField(Connection.choices, read_only=True)


class SensorReadSerializer(SensorSerializer):
    as_of = TimestampField(required=False, help_text=_("the time that was asked for; only with `at`"))


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


class ClientReadSerializer(ClientSerializer):
    sensors = serializers.ListField(
        child=serializers.CharField(), required=False, help_text=_("the first 1000 of its sensors then; only with `at`")
    )
    sensor_count = serializers.IntegerField(required=False, help_text=_("how many those were; only with `at`"))
    as_of = TimestampField(required=False, help_text=_("the time that was asked for; only with `at`"))


class NewClientSerializer(ClientSerializer):
    secret = serializers.CharField(read_only=True)


class SecretSerializer(serializers.Serializer[Any]):
    secret = serializers.CharField()


class AsOfQuery(serializers.Serializer[Any]):
    at = TimestampField(
        required=False, help_text=_("a time that is over: the answer is as it was then, by change log and history")
    )


class PastClientQuery(AsOfQuery):
    """What `GET /clients/{id}/` takes."""

    after = serializers.CharField(
        required=False, max_length=16, help_text=_("with `at`: the sensors behind this one, in their order")
    )


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
    changes = serializers.ChoiceField(["true", "false"], required=False, help_text=_("only state changes"))
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
    opened_at = TimestampField(required=False)
    limit_seconds = serializers.IntegerField(required=False)
    muted = serializers.BooleanField(required=False)


class RejectedItemSerializer(serializers.Serializer[Any]):
    index = serializers.IntegerField(help_text=_("its place in the list that was sent, from 0"))
    code = serializers.ChoiceField([code.value for code in Code])
    message = serializers.CharField()


class AcceptedSignalsSerializer(serializers.Serializer[Any]):
    accepted = serializers.IntegerField(help_text=_("how many are durable now, recognised repeats among them"))
    rejected = RejectedItemSerializer(many=True)


class RejectedSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    code = serializers.CharField()
    message = serializers.CharField()
    sensor_id = serializers.CharField(help_text=_("as it was sent, or empty"))
    raw = serializers.CharField(help_text=_("the latest such text, first 1024 bytes"))
    count = serializers.IntegerField(help_text=_("how often within the minute"))
    minute = TimestampField()
    last_at = TimestampField()
    correlation_id = serializers.CharField(help_text=_("of the last of them"))


LinkSerializer = serializer_for(
    LinkAnswer,
    "Link",
    linked={"help_text": _("whether the client is notified about the sensor")},
    since=TimestampField(allow_null=True, help_text=_("null: since before the records begin, or never")),
    as_of=TimestampField(),
)
SignalSerializer = serializer_for(
    SentSignal,
    "Signal",
    sensor_id=serializers.RegexField(f"^{SENSOR_ID}$"),
    data={"help_text": _("the number 0 or 1")},
    at={"help_text": _("by default the time of receipt")},
    id=serializers.RegexField(
        f"^{SIGNAL_ID.pattern}$", required=False, help_text=_("makes a repeat recognisable; needs `at`")
    ),
)
SignalsBody = PolymorphicProxySerializer(
    "Signals", [SignalSerializer, SignalSerializer(many=True)], resource_type_field_name=None, many=False
)
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
    for pk, address, notes, active, timeout, open_limit, muted_until, state, changed_at, seen_at, lost_at in rows:
        connection = connection_of(active=active, seen=seen_at is not None, lost=lost_at is not None, outage=outage)
        answers.append(
            SensorAnswer(
                pk,
                address,
                notes,
                active,
                timeout,
                open_limit,
                muted_until,
                clients.get(pk, []),
                state,
                changed_at,
                seen_at,
                connection.value,
            )
        )
    return answers


def present_past_sensor(then: PastSensor, state: PastState) -> PastSensorAnswer:
    return PastSensorAnswer(
        id=then.id,
        address=then.address,
        notes=then.notes,
        active=then.active,
        heartbeat_timeout=then.heartbeat_timeout,
        open_limit=then.open_limit,
        muted_until=_time_or_none(then.muted_until),
        clients=then.clients,
        state=state.value,
        state_changed_at=None if state.changed_at is None else format_milliseconds(state.changed_at),
        last_seen_at=None if state.seen_at is None else format_milliseconds(state.seen_at),
        connection=then.connection(state).value,
        as_of=format_time(then.at),
    )


def present_past_client(then: PastClient, sensors: list[str], count: int) -> PastClientAnswer:
    muted_until, as_of = _time_or_none(then.muted_until), format_time(then.at)
    return PastClientAnswer(then.id, then.name, then.url, then.active, then.paused, muted_until, sensors, count, as_of)


def present_link(link: PastLink) -> LinkAnswer:
    return LinkAnswer(
        link.sensor_id, link.client_id, link.is_linked, _time_or_none(link.since), as_of=format_time(link.at)
    )


def _time_or_none(at: datetime | None) -> str | None:
    return None if at is None else format_time(at)


def read_as_of(request: Request) -> datetime | None:
    """Return the time `at` that a call asks for, or None where it asks for the present; refuse one that is to come."""
    if "at" not in request.query_params:
        return None
    asked = AsOfQuery(data=request.query_params)
    asked.is_valid(raise_exception=True)
    if "at" not in asked.validated_data:  # an empty one counts as left out
        raise Invalid({"at": [str(TimestampField.default_error_messages["moment"])]})
    return check_past(asked.validated_data["at"])


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
