"""`/enterprises/`, `/subsystems/`, `/devices/`, `/databases/`: who exchanges messages, and their keys."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from config.access.authentication import actor_of
from config.api.base_view import ApiView
from messaging.api import shapes
from messaging.api.party_views import WRITE, PartiesView, PartyView, describe_parties, describe_party
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


@describe_parties("enterprises", shapes.EnterpriseListSerializer, shapes.EnterpriseSerializer)
class EnterprisesView(PartiesView):
    serializer = shapes.EnterpriseSerializer

    def select(self, **filters: str) -> QuerySet[Enterprise]:
        return Enterprise.objects.all()

    def present(self, row: Enterprise) -> object:
        return shapes.present_enterprise(row)

    def register(self, party_id: str | None, actor: str, **values: Any) -> object:
        made = create_enterprise(enterprise_id=party_id, actor=actor, **values)
        return shapes.present_enterprise(get_enterprise(made))


@describe_party("enterprises", end="deactivate")
class EnterpriseView(PartyView):
    serializer = shapes.EnterpriseSerializer

    def read(self, party_id: str) -> object:
        return shapes.present_enterprise(get_enterprise(party_id))

    def change(self, party_id: str, actor: str, **edits: Any) -> None:
        update_enterprise(enterprise_id=party_id, actor=actor, **edits)

    def end(self, party_id: str, actor: str) -> None:
        deactivate_enterprise(enterprise_id=party_id, actor=actor)


@describe_parties("subsystems", shapes.SubsystemListSerializer, shapes.SubsystemSerializer)
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


@describe_party("subsystems", end="delete")
class SubsystemView(PartyView):
    serializer = shapes.SubsystemSerializer

    def read(self, party_id: str) -> object:
        return shapes.present_subsystem(get_subsystem(party_id))

    def change(self, party_id: str, actor: str, **edits: Any) -> None:
        update_subsystem(subsystem_id=party_id, actor=actor, **edits)

    def end(self, party_id: str, actor: str) -> None:
        delete_subsystem(subsystem_id=party_id, actor=actor)


@describe_parties("devices", shapes.DeviceListSerializer, shapes.NewDeviceSerializer)
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


@describe_party("devices", end="deactivate")
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

    @extend_schema(operation_id="devices_rotate_key", tags=["devices"], request=None, responses=shapes.KeySerializer)
    def post(self, request: Request, party_id: str) -> Response:
        """Make a new key; all older ones end at once."""
        return Response({"key": rotate_device_key(device_id=party_id, actor=actor_of(request)).text})


@describe_parties("databases", shapes.DatabaseListSerializer, shapes.NewDatabaseSerializer)
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


@describe_party("databases", end="deactivate")
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

    @extend_schema(
        operation_id="databases_rotate_key", tags=["databases"], request=None, responses=shapes.KeySerializer
    )
    def post(self, request: Request, party_id: str) -> Response:
        """Make a new key; all older ones end at once."""
        return Response({"key": rotate_database_key(database_id=party_id, actor=actor_of(request)).text})
