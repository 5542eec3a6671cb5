"""The shapes of messaging's API: serializers read what comes in, structs that encode themselves are what goes out."""

from typing import Any

import msgspec
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from config.common.web.serializers import StrictSerializer, TimestampField
from config.common.web.struct_schema import page_serializer, serializer_for
from messaging.models import Device, Enterprise, ExchangeDatabase, Message, Subsystem
from messaging.models.parties import PARTY_ID
from messaging.protocol import REASON_LENGTH, require_version
from messaging.services.party_rules import LONGEST_NAME
from messaging.services.send import NewMessage

MOST_FETCHED = 1000
MOST_FETCHED_MB = 1024
"""Of what may be asked for; `EXCHANGE_MAX_MB` bounds what is sent."""
_ID = "^[A-Za-z0-9-]{1,36}$"


class EnterpriseAnswer(msgspec.Struct):
    id: str
    name: str


class SubsystemAnswer(msgspec.Struct):
    id: str
    enterprise: str
    name: str


class DeviceAnswer(msgspec.Struct, omit_defaults=True):
    id: str
    enterprise: str
    subsystem: str
    name: str
    active: bool
    key: str = ""
    """Only in the answer to the call that registered the device."""


class DatabaseAnswer(msgspec.Struct, omit_defaults=True):
    id: str
    enterprise: str
    name: str
    active: bool
    key: str = ""
    """Only in the answer to the call that registered the database."""


class PartyIdField(serializers.RegexField):
    def __init__(self, **kwargs: Any) -> None:
        rule = _("Must be 1 to 36 letters, digits and hyphens.")
        super().__init__(rf"^{PARTY_ID}\Z", trim_whitespace=False, error_messages={"invalid": rule}, **kwargs)


class PartySerializer(StrictSerializer):
    """An id may be given to a new party; later it may be repeated, but not changed."""

    id = PartyIdField(required=False, help_text=_("generated if omitted"))
    name = serializers.CharField(max_length=LONGEST_NAME)

    def validate_id(self, value: str) -> str:
        if value != self.context.get("id", value):
            raise serializers.ValidationError(gettext("The id cannot be changed."))
        return value


class EnterpriseSerializer(PartySerializer):
    pass


class SubsystemSerializer(PartySerializer):
    enterprise = PartyIdField()


class DeviceSerializer(PartySerializer):
    enterprise = PartyIdField()
    subsystem = PartyIdField()
    active = serializers.BooleanField(required=False)


class DatabaseSerializer(PartySerializer):
    enterprise = PartyIdField()
    active = serializers.BooleanField(required=False)


class NewDeviceSerializer(DeviceSerializer):
    key = serializers.CharField(read_only=True)


class NewDatabaseSerializer(DatabaseSerializer):
    key = serializers.CharField(read_only=True)


class KeySerializer(serializers.Serializer[Any]):
    key = serializers.CharField()


class NothingQuery(serializers.Serializer[Any]):
    """Enterprises are not narrowed."""


class EnterpriseQuery(serializers.Serializer[Any]):
    """What subsystems and databases are filtered by."""

    enterprise = PartyIdField(required=False)


class DeviceQuery(EnterpriseQuery):
    subsystem = PartyIdField(required=False)


class AcceptedSerializer(serializers.Serializer[Any]):
    version = serializers.IntegerField()
    id = serializers.CharField()
    name = serializers.CharField(help_text=_("the name of its file"))
    accepted_at = TimestampField()


class MessageSerializer(serializers.Serializer[Any]):
    version = serializers.IntegerField()
    id = serializers.CharField()
    name = serializers.CharField()
    to = serializers.CharField()
    subsystem = serializers.CharField()
    created_at = TimestampField()
    reply_to = serializers.CharField(required=False)
    correlation_id = serializers.CharField()
    payload = serializers.JSONField()

    def get_fields(self) -> "dict[str, serializers.Field[Any, Any, Any, Any]]":
        return {**super().get_fields(), "from": serializers.CharField()}


class MessagesSerializer(serializers.Serializer[Any]):
    version = serializers.IntegerField()
    messages = MessageSerializer(many=True)


class ConfirmSerializer(serializers.Serializer[Any]):
    version = serializers.IntegerField(min_value=1, max_value=1, required=False, help_text=_("required in a body"))


class FetchQuery(serializers.Serializer[Any]):
    limit = serializers.IntegerField(min_value=1, max_value=MOST_FETCHED, default=100)
    max_mb = serializers.FloatField(min_value=1, max_value=MOST_FETCHED_MB, required=False)


class ReceiptSerializer(serializers.Serializer[Any]):
    version = serializers.IntegerField()
    status = serializers.ChoiceField(Message.Status.choices)
    error_text = serializers.CharField(allow_null=True)
    error_code = serializers.JSONField(allow_null=True, help_text=_("a number from the ERP, or one of our words"))
    replies = serializers.ListField(child=serializers.CharField())
    updated_at = TimestampField()
    correlation_id = serializers.CharField()


class ReasonSerializer(StrictSerializer):
    """A decision by hand, and why; in the version of all bodies of messaging and exchange."""

    version = serializers.IntegerField()
    reason = serializers.CharField(max_length=REASON_LENGTH, help_text=_("kept in the log and in the registry changes"))

    def to_internal_value(self, data: Any) -> Any:
        require_version(data.get("version") if isinstance(data, dict) else None)
        return super().to_internal_value(data)


class MessageReasonSerializer(ReasonSerializer):
    enterprise = serializers.CharField(max_length=36, help_text=_("message ids are unique within an enterprise"))


class WaitingMessageSerializer(serializers.Serializer[Any]):
    version = serializers.IntegerField()
    id = serializers.CharField()
    enterprise = serializers.CharField()
    database = serializers.CharField()
    status = serializers.ChoiceField(Message.Status.choices)
    set_aside_at = TimestampField(allow_null=True)


NewMessageSerializer = serializer_for(
    NewMessage,
    version={"min_value": 1, "max_value": 1},
    id=serializers.RegexField(_ID, required=False, help_text=_("unique within the enterprise")),
    to=serializers.RegexField(_ID, help_text=_("the id of a database")),
    created_at=TimestampField(required=False, help_text=_("by default the time of receipt")),
    payload={"help_text": _("anything")},
)
EnterpriseListSerializer = page_serializer(EnterpriseSerializer)
SubsystemListSerializer = page_serializer(SubsystemSerializer)
DeviceListSerializer = page_serializer(DeviceSerializer)
DatabaseListSerializer = page_serializer(DatabaseSerializer)


def present_enterprise(enterprise: Enterprise) -> EnterpriseAnswer:
    return EnterpriseAnswer(enterprise.pk, enterprise.name)


def present_subsystem(subsystem: Subsystem) -> SubsystemAnswer:
    return SubsystemAnswer(subsystem.pk, subsystem.enterprise_id, subsystem.name)


def present_device(device: Device, *, key: str = "") -> DeviceAnswer:
    owner = device.subsystem.enterprise_id
    return DeviceAnswer(device.pk, owner, device.subsystem_id, device.name, device.active, key)


def present_database(database: ExchangeDatabase, *, key: str = "") -> DatabaseAnswer:
    return DatabaseAnswer(database.pk, database.enterprise_id, database.name, database.active, key)
