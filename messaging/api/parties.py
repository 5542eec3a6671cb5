"""`/enterprises/`, `/subsystems/`, `/devices/`, `/databases/`: who exchanges messages, and their keys."""

from typing import Any

from django.db.models import QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from config.access.authentication import actor_of
from config.api.base_view import ApiView
from config.api.description import describe_call
from messaging.api import shapes
from messaging.api.party_views import WRITE, PartiesView, PartyView, PartyWords, describe_parties, describe_party
from messaging.errors import (
    DatabaseExists,
    DatabaseNotFound,
    DeviceExists,
    DeviceNotFound,
    EnterpriseExists,
    EnterpriseNotFound,
    SubsystemExists,
    SubsystemInUse,
    SubsystemNotFound,
)
from messaging.models import Device, Enterprise, ExchangeDatabase, Subsystem
from messaging.selectors import (
    get_database,
    get_device,
    get_enterprise,
    get_subsystem,
    matching_databases,
    matching_devices,
    matching_subsystems,
)
from messaging.services.databases import create_database, deactivate_database, rotate_database_key, update_database
from messaging.services.devices import create_device, deactivate_device, rotate_device_key, update_device
from messaging.services.enterprises import create_enterprise, deactivate_enterprise, update_enterprise
from messaging.services.subsystems import create_subsystem, delete_subsystem, update_subsystem

ENTERPRISE = PartyWords("enterprises", "an enterprise", "enterprises", EnterpriseNotFound, [EnterpriseExists])
SUBSYSTEM = PartyWords("subsystems", "a subsystem", "subsystems", SubsystemNotFound, [SubsystemExists])
DEVICE = PartyWords("devices", "a device", "devices", DeviceNotFound, [DeviceExists, DatabaseExists])
DATABASE = PartyWords("databases", "a database", "databases", DatabaseNotFound, [DatabaseExists, DeviceExists])


@describe_parties(
    ENTERPRISE,
    shapes.EnterpriseListSerializer,
    shapes.EnterpriseSerializer,
    registers="Register an enterprise: its devices and databases exchange messages with each other alone.",
    lists="List the enterprises, in order of id.",
)
class EnterprisesView(PartiesView):
    serializer = shapes.EnterpriseSerializer

    def select(self, **filters: str) -> QuerySet[Enterprise]:
        return Enterprise.objects.all()

    def present(self, row: Enterprise) -> object:
        return shapes.present_enterprise(row)

    def register(self, party_id: str | None, actor: str, **values: Any) -> object:
        made = create_enterprise(enterprise_id=party_id, actor=actor, **values)
        return shapes.present_enterprise(get_enterprise(made))


@describe_party(
    ENTERPRISE,
    end="deactivate",
    ends="Deactivate the enterprise: the keys of its devices and databases are refused, all messages stay.",
    changes="Rename an enterprise; its id stays.",
)
class EnterpriseView(PartyView):
    serializer = shapes.EnterpriseSerializer

    def read(self, party_id: str) -> object:
        return shapes.present_enterprise(get_enterprise(party_id))

    def change(self, party_id: str, actor: str, **edits: Any) -> None:
        update_enterprise(enterprise_id=party_id, actor=actor, **edits)

    def end(self, party_id: str, actor: str) -> None:
        deactivate_enterprise(enterprise_id=party_id, actor=actor)


@describe_parties(
    SUBSYSTEM,
    shapes.SubsystemListSerializer,
    shapes.SubsystemSerializer,
    registers="Register a subsystem: each device belongs to one, and an exchange may ask for the messages of some.",
    lists="List the subsystems, in order of id, of all enterprises or of one.",
)
class SubsystemsView(PartiesView):
    serializer = shapes.SubsystemSerializer
    query = shapes.EnterpriseQuery

    def select(self, **filters: str) -> QuerySet[Subsystem]:
        return matching_subsystems(**filters)

    def present(self, row: Subsystem) -> object:
        return shapes.present_subsystem(row)

    def register(self, party_id: str | None, actor: str, **values: Any) -> object:
        made = create_subsystem(subsystem_id=party_id, actor=actor, **values)
        return shapes.present_subsystem(get_subsystem(made))


@describe_party(
    SUBSYSTEM,
    end="delete",
    ends="Delete a subsystem that has no devices and no messages.",
    changes="Rename a subsystem; its id and enterprise stay.",
    errors=[SubsystemInUse],
)
class SubsystemView(PartyView):
    serializer = shapes.SubsystemSerializer

    def read(self, party_id: str) -> object:
        return shapes.present_subsystem(get_subsystem(party_id))

    def change(self, party_id: str, actor: str, **edits: Any) -> None:
        update_subsystem(subsystem_id=party_id, actor=actor, **edits)

    def end(self, party_id: str, actor: str) -> None:
        delete_subsystem(subsystem_id=party_id, actor=actor)


@describe_parties(
    DEVICE,
    shapes.DeviceListSerializer,
    shapes.NewDeviceSerializer,
    registers="Register a device. The answer holds its key, this once.",
    lists="List the devices, in order of id, of all enterprises, of one, or of one subsystem.",
)
class DevicesView(PartiesView):
    serializer = shapes.DeviceSerializer
    query = shapes.DeviceQuery

    def select(self, **filters: str) -> QuerySet[Device]:
        return matching_devices(**filters)

    def present(self, row: Device) -> object:
        return shapes.present_device(row)

    def register(self, party_id: str | None, actor: str, **values: Any) -> object:
        made = create_device(device_id=party_id, actor=actor, **values)
        return shapes.present_device(get_device(made.party_id), key=made.text)


@describe_party(
    DEVICE,
    end="deactivate",
    ends="Deactivate the device: its keys are refused, its messages stay readable.",
    changes="Change the named fields of a device: its name, its subsystem, whether it is active.",
)
class DeviceView(PartyView):
    serializer = shapes.DeviceSerializer

    def read(self, party_id: str) -> object:
        return shapes.present_device(get_device(party_id))

    def change(self, party_id: str, actor: str, **edits: Any) -> None:
        update_device(device_id=party_id, actor=actor, **edits)

    def end(self, party_id: str, actor: str) -> None:
        deactivate_device(device_id=party_id, actor=actor)


class RotateDeviceKeyView(ApiView):
    scopes = WRITE

    @describe_call(
        operation_id="devices_rotate_key",
        summary="Rotate a device's key",
        tags=["devices"],
        request=None,
        responses=shapes.KeySerializer,
        errors=[DeviceNotFound],
    )
    def post(self, request: Request, party_id: str) -> Response:
        """Make a new key for a device and show it this once; all older ones end at once."""
        return Response({"key": rotate_device_key(device_id=party_id, actor=actor_of(request)).text})


@describe_parties(
    DATABASE,
    shapes.DatabaseListSerializer,
    shapes.NewDatabaseSerializer,
    registers="Register a database, the side of an ERP. The answer holds its key, this once.",
    lists="List the databases, in order of id, of all enterprises or of one.",
)
class DatabasesView(PartiesView):
    serializer = shapes.DatabaseSerializer
    query = shapes.EnterpriseQuery

    def select(self, **filters: str) -> QuerySet[ExchangeDatabase]:
        return matching_databases(**filters)

    def present(self, row: ExchangeDatabase) -> object:
        return shapes.present_database(row)

    def register(self, party_id: str | None, actor: str, **values: Any) -> object:
        made = create_database(database_id=party_id, actor=actor, **values)
        return shapes.present_database(get_database(made.party_id), key=made.text)


@describe_party(
    DATABASE,
    end="deactivate",
    ends="Deactivate the database: its keys are refused, its messages stay readable.",
    changes="Change the named fields of a database: its name, whether it is active.",
)
class DatabaseView(PartyView):
    serializer = shapes.DatabaseSerializer

    def read(self, party_id: str) -> object:
        return shapes.present_database(get_database(party_id))

    def change(self, party_id: str, actor: str, **edits: Any) -> None:
        update_database(database_id=party_id, actor=actor, **edits)

    def end(self, party_id: str, actor: str) -> None:
        deactivate_database(database_id=party_id, actor=actor)


class RotateDatabaseKeyView(ApiView):
    scopes = WRITE

    @describe_call(
        operation_id="databases_rotate_key",
        summary="Rotate a database's key",
        tags=["databases"],
        request=None,
        responses=shapes.KeySerializer,
        errors=[DatabaseNotFound],
    )
    def post(self, request: Request, party_id: str) -> Response:
        """Make a new key for a database and show it this once; all older ones end at once."""
        return Response({"key": rotate_database_key(database_id=party_id, actor=actor_of(request)).text})
