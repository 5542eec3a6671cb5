"""The shapes of the registry's calls: what comes in is read by these; lists go out by `answers.py`, which is faster."""

from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from config.common.web.serializers import BoundedListField, StrictSerializer, TimestampField
from sensors.models.registry import LONGEST_TIMEOUT, SENSOR_ID
from sensors.selectors import Connection
from sensors.services.rules import LONGEST_ADDRESS, LONGEST_NAME, LONGEST_NOTES, LONGEST_URL, MOST_CLIENTS


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


class SensorListSerializer(serializers.Serializer[Any]):
    results = SensorSerializer(many=True)
    next = serializers.URLField(allow_null=True)


class ClientSerializer(StrictSerializer):
    id = serializers.IntegerField(read_only=True)
    name = serializers.CharField(max_length=LONGEST_NAME)
    url = serializers.CharField(max_length=LONGEST_URL)
    active = serializers.BooleanField(required=False)
    paused = serializers.BooleanField(required=False)
    muted_until = TimestampField(required=False, allow_null=True)


class NewClientSerializer(ClientSerializer):
    secret = serializers.CharField(read_only=True)


class ClientListSerializer(serializers.Serializer[Any]):
    results = ClientSerializer(many=True)
    next = serializers.URLField(allow_null=True)


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
