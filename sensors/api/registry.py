"""`/sensors/`: the registry of sensors, their links and their change log."""

import msgspec
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from config.access.authentication import Principal, actor_of
from config.access.scopes import Scope
from config.api.base_view import ApiView
from config.api.openapi import PAGE_PARAMETERS
from config.audit.api.changes import ChangeSerializer
from config.common.web.pagination import paginate
from config.records.models import AccessKey, ChangeRecord
from sensors.api.shapes import (
    SensorAnswer,
    SensorEditSerializer,
    SensorListSerializer,
    SensorQuery,
    SensorSerializer,
    present_sensors,
)
from sensors.selectors import Connection, SensorFilter, get_sensor_row, matching_sensors, sensor_rows
from sensors.services.links import link, unlink
from sensors.services.sensors import create_sensor, deactivate_sensor, update_sensor

READ = {"GET": Scope.REGISTRY_READ}
WRITE = {method: Scope.REGISTRY_WRITE for method in ("POST", "PUT", "PATCH", "DELETE")}
CLIENTS_TOO = {"GET": {AccessKey.Kind.CLIENT}}


class SensorsView(ApiView):
    scopes = {**READ, **WRITE}
    key_kinds = CLIENTS_TOO

    @extend_schema(
        operation_id="sensors_list",
        tags=["sensors"],
        parameters=[SensorQuery, *PAGE_PARAMETERS],
        responses=SensorListSerializer,
    )
    def get(self, request: Request) -> Response:
        chosen = read_filter(request)
        found = paginate(request, sensor_rows(matching_sensors(chosen)), order=["id"])
        return Response({"results": present_sensors(found.results, owner=chosen.owner), "next": found.next})

    @extend_schema(
        operation_id="sensors_create", tags=["sensors"], request=SensorSerializer, responses={201: SensorSerializer}
    )
    def post(self, request: Request) -> Response:
        asked = SensorSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        sensor_id = asked.validated_data.pop("id")
        create_sensor(sensor_id=sensor_id, actor=actor_of(request), **asked.validated_data)
        return Response(_present(sensor_id), status=201)


class SensorView(ApiView):
    scopes = {**READ, **WRITE}
    key_kinds = CLIENTS_TOO

    @extend_schema(operation_id="sensors_get", tags=["sensors"], responses=SensorSerializer)
    def get(self, request: Request, sensor_id: str) -> Response:
        return Response(_present(sensor_id, owner=owner_of_sensors(request)))

    @extend_schema(
        operation_id="sensors_change", tags=["sensors"], request=SensorEditSerializer, responses=SensorSerializer
    )
    def patch(self, request: Request, sensor_id: str) -> Response:
        known = {"id": sensor_id, "present": lambda: msgspec.structs.asdict(_present(sensor_id))}
        asked = SensorEditSerializer(data=request.data, partial=True, context=known)
        asked.is_valid(raise_exception=True)
        asked.validated_data.pop("id", None)
        update_sensor(sensor_id=sensor_id, actor=actor_of(request), **asked.validated_data)
        return Response(_present(sensor_id))

    @extend_schema(operation_id="sensors_deactivate", tags=["sensors"], responses={204: None})
    def delete(self, request: Request, sensor_id: str) -> Response:
        """Deactivate the sensor; its history stays readable."""
        deactivate_sensor(sensor_id=sensor_id, actor=actor_of(request))
        return Response(status=204)


class LinkView(ApiView):
    """Whether a client is told about a sensor."""

    scopes = WRITE

    @extend_schema(operation_id="sensors_link", tags=["sensors"], request=None, responses={204: None})
    def put(self, request: Request, sensor_id: str, client_id: int) -> Response:
        link(sensor_id=sensor_id, client_id=client_id, actor=actor_of(request))
        return Response(status=204)

    @extend_schema(operation_id="sensors_unlink", tags=["sensors"], responses={204: None})
    def delete(self, request: Request, sensor_id: str, client_id: int) -> Response:
        unlink(sensor_id=sensor_id, client_id=client_id, actor=actor_of(request))
        return Response(status=204)


class SensorChangesView(ApiView):
    scopes = READ

    @extend_schema(
        operation_id="sensors_changes",
        tags=["changes"],
        parameters=PAGE_PARAMETERS,
        responses=ChangeSerializer(many=True),
    )
    def get(self, request: Request, sensor_id: str) -> Response:
        get_sensor_row(sensor_id)
        return answer_changes(request, kind="sensor", object_id=sensor_id)


def answer_changes(request: Request, *, kind: str, object_id: str) -> Response:
    """Answer with one page of an object's change log, newest first."""
    found = paginate(request, ChangeRecord.objects.filter(kind=kind, object_id=object_id), order=["-id"])
    results = [ChangeSerializer(change).data for change in found.results]
    return Response({"results": results, "next": found.next})


def read_filter(request: Request) -> SensorFilter:
    asked = SensorQuery(data=request.query_params)
    asked.is_valid(raise_exception=True)
    values = dict(asked.validated_data)
    if "active" not in request.query_params:  # a form without a box would be false
        values.pop("active", None)
    if "connection" in values:
        values["connection"] = Connection(values["connection"])
    if "state" in values:
        values["state"] = int(values["state"])
    return SensorFilter(**values, owner=owner_of_sensors(request))


def owner_of_sensors(request: Request) -> int | None:
    """Return the client whose key calls: it sees its own sensors alone."""
    caller = request.user
    if isinstance(caller, Principal) and caller.kind == AccessKey.Kind.CLIENT:
        return int(caller.subject)
    return None


def _present(sensor_id: str, *, owner: int | None = None) -> SensorAnswer:
    return present_sensors([get_sensor_row(sensor_id, owner=owner)], owner=owner)[0]
