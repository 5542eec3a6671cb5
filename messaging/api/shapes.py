"""The shapes of the parties' calls: what comes in is read by these, what goes out is made by `present_*`."""

from typing import Any

import msgspec
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from config.common.web.serializers import StrictSerializer
from messaging.models import Device, Enterprise, ExchangeDatabase, Subsystem
from messaging.models.parties import PARTY_ID
from messaging.services.party_rules import LONGEST_NAME


class PartyIdField(serializers.RegexField):
    def __init__(self, **kwargs: Any) -> None:
        rule = _("Must be 1 to 36 letters, digits and hyphens.")
        super().__init__(rf"^{PARTY_ID}\Z", trim_whitespace=False, error_messages={"invalid": rule}, **kwargs)


class PartySerializer(StrictSerializer):
    """An id may be given to a new party; later it may be repeated, but not changed."""

    id = PartyIdField(required=False, help_text=_("made when it is left out"))
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


class EnterpriseListSerializer(serializers.Serializer[Any]):
    results = EnterpriseSerializer(many=True)
    next = serializers.URLField(allow_null=True)


class SubsystemListSerializer(serializers.Serializer[Any]):
    results = SubsystemSerializer(many=True)
    next = serializers.URLField(allow_null=True)


class DeviceListSerializer(serializers.Serializer[Any]):
    results = DeviceSerializer(many=True)
    next = serializers.URLField(allow_null=True)


class DatabaseListSerializer(serializers.Serializer[Any]):
    results = DatabaseSerializer(many=True)
    next = serializers.URLField(allow_null=True)


class NothingQuery(serializers.Serializer[Any]):
    """Enterprises are not narrowed."""


class EnterpriseQuery(serializers.Serializer[Any]):
    """What subsystems and databases are filtered by."""

    enterprise = PartyIdField(required=False)


class DeviceQuery(EnterpriseQuery):
    subsystem = PartyIdField(required=False)


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


def present_enterprise(enterprise: Enterprise) -> EnterpriseAnswer:
    return EnterpriseAnswer(enterprise.pk, enterprise.name)


def present_subsystem(subsystem: Subsystem) -> SubsystemAnswer:
    return SubsystemAnswer(subsystem.pk, subsystem.enterprise_id, subsystem.name)


def present_device(device: Device, *, key: str = "") -> DeviceAnswer:
    owner = device.subsystem.enterprise_id
    return DeviceAnswer(device.pk, owner, device.subsystem_id, device.name, device.active, key)


def present_database(database: ExchangeDatabase, *, key: str = "") -> DatabaseAnswer:
    return DatabaseAnswer(database.pk, database.enterprise_id, database.name, database.active, key)
