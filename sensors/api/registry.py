"""`/sensors/`: the registry of sensors, their links and their change log."""

import msgspec
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from config.access.authentication import Principal, actor_of
from config.access.scopes import Scope
from config.api.base_view import ApiView
from config.api.description import describe_call
from config.api.openapi import PAGE_PARAMETERS
from config.audit.api.changes import ChangeListSerializer, ChangeSerializer
from config.audit.as_of import BeforeRecords, NotRegisteredThen
from config.common.times import to_milliseconds, truncate_to_milliseconds
from config.common.web.pagination import PAGE_BYTES, paginate
from config.records.models import AccessKey, ChangeRecord
from sensors.api.shapes import (
    AsOfQuery,
    LinkSerializer,
    SensorAnswer,
    SensorEditSerializer,
    SensorListSerializer,
    SensorQuery,
    SensorReadSerializer,
    SensorSerializer,
    present_link,
    present_past_sensor,
    present_sensors,
    read_as_of,
)
from sensors.as_of import get_link_at, get_sensor_at
from sensors.errors import ClientNotFound, SensorExists, SensorNotFound
from sensors.history.as_of import read_state_at
from sensors.selectors import Connection, SensorFilter, get_sensor_row, matching_sensors, sensor_rows, weigh_clients
from sensors.services.links import link, unlink
from sensors.services.sensors import create_sensor, deactivate_sensor, update_sensor

READ = {"GET": Scope.REGISTRY_READ}
WRITE = {method: Scope.REGISTRY_WRITE for method in ("POST", "PUT", "PATCH", "DELETE")}
CLIENTS_TOO = {"GET": {AccessKey.Kind.CLIENT}}


class SensorsView(ApiView):
    scopes = {**READ, **WRITE}
    key_kinds = CLIENTS_TOO

    @describe_call(
        operation_id="sensors_list",
        summary="List sensors",
        tags=["sensors"],
        parameters=[SensorQuery, *PAGE_PARAMETERS],
        responses=SensorListSerializer,
    )
    def get(self, request: Request) -> Response:
        """List sensors in order of id, with their state and connection.

        A client's key lists that client's sensors alone.
        """
        chosen = read_filter(request)
        found = paginate(
            request,
            sensor_rows(matching_sensors(chosen)),
            order=["id"],
            # A client sees itself alone.
            weigh_beside=weigh_clients if chosen.owner is None else None,
            most_bytes=PAGE_BYTES,
        )
        return Response({"results": present_sensors(found.results, owner=chosen.owner), "next": found.next})

    @describe_call(
        operation_id="sensors_create",
        summary="Register a sensor",
        tags=["sensors"],
        request=SensorSerializer,
        responses={201: SensorSerializer},
        errors=[SensorExists],
    )
    def post(self, request: Request) -> Response:
        """Register a sensor, and link it to the clients that are to be notified about it."""
        asked = SensorSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        sensor_id = asked.validated_data.pop("id")
        create_sensor(sensor_id=sensor_id, actor=actor_of(request), **asked.validated_data)
        return Response(_present(sensor_id), status=201)


class SensorView(ApiView):
    scopes = {**READ, **WRITE}
    key_kinds = CLIENTS_TOO

    @describe_call(
        operation_id="sensors_get",
        summary="Read a sensor",
        tags=["sensors"],
        parameters=[AsOfQuery],
        responses=SensorReadSerializer,
        errors=[SensorNotFound, NotRegisteredThen, BeforeRecords],
    )
    def get(self, request: Request, sensor_id: str) -> Response:
        """Return a sensor with its state; with `at`, its settings, clients and state as they were at that time.

        404 `not_registered_then` before it was registered, `before_records` before the change log begins, with
        `data.records_begin`; what history no longer has is `null`, with the connection `unknown`.
        """
        owner, at = owner_of_sensors(request), read_as_of(request)
        if at is None:
            return Response(_present(sensor_id, owner=owner))
        then = get_sensor_at(sensor_id, at, owner=owner)
        return Response(present_past_sensor(then, read_state_at(sensor_id, to_milliseconds(at))))

    @describe_call(
        operation_id="sensors_change",
        summary="Change a sensor",
        tags=["sensors"],
        request=SensorEditSerializer,
        responses=SensorSerializer,
        errors=[SensorNotFound],
    )
    def patch(self, request: Request, sensor_id: str) -> Response:
        """Change the named fields of a sensor. `clients` replaces all its links; `active` true brings it back.

        An answer of `GET` can be sent back as it is: what can only be read may be repeated, but not changed.
        """
        known = {"id": sensor_id, "present": lambda: msgspec.structs.asdict(_present(sensor_id))}
        asked = SensorEditSerializer(data=request.data, partial=True, context=known)
        asked.is_valid(raise_exception=True)
        asked.validated_data.pop("id", None)
        update_sensor(sensor_id=sensor_id, actor=actor_of(request), **asked.validated_data)
        return Response(_present(sensor_id))

    @describe_call(
        operation_id="sensors_deactivate",
        summary="Deactivate a sensor",
        tags=["sensors"],
        responses={204: None},
        errors=[SensorNotFound],
    )
    def delete(self, request: Request, sensor_id: str) -> Response:
        """Deactivate the sensor: its signals are refused from now on, its history stays readable."""
        deactivate_sensor(sensor_id=sensor_id, actor=actor_of(request))
        return Response(status=204)


class LinkView(ApiView):
    scopes = {**READ, **WRITE}
    key_kinds = CLIENTS_TOO

    @describe_call(
        operation_id="sensors_link_get",
        summary="Read a link",
        tags=["sensors"],
        parameters=[AsOfQuery],
        responses=LinkSerializer,
        errors=[SensorNotFound, ClientNotFound, NotRegisteredThen, BeforeRecords],
    )
    def get(self, request: Request, sensor_id: str, client_id: int) -> Response:
        """Return whether a client is notified about a sensor, and since when; with `at`, as it was at that time."""
        at = read_as_of(request) or truncate_to_milliseconds(timezone.now())
        return Response(present_link(get_link_at(sensor_id, client_id, at, owner=owner_of_sensors(request))))

    @describe_call(
        operation_id="sensors_link",
        summary="Link a client to a sensor",
        tags=["sensors"],
        request=None,
        responses={204: None},
        errors=[SensorNotFound, ClientNotFound],
    )
    def put(self, request: Request, sensor_id: str, client_id: int) -> Response:
        """Notify this client about this sensor from now on; 204 also if it is linked already."""
        link(sensor_id=sensor_id, client_id=client_id, actor=actor_of(request))
        return Response(status=204)

    @describe_call(
        operation_id="sensors_unlink",
        summary="Unlink a client from a sensor",
        tags=["sensors"],
        responses={204: None},
        errors=[SensorNotFound, ClientNotFound],
    )
    def delete(self, request: Request, sensor_id: str, client_id: int) -> Response:
        """Stop notifying this client about this sensor: what is still pending is cancelled.

        204 also if it was not linked.
        """
        unlink(sensor_id=sensor_id, client_id=client_id, actor=actor_of(request))
        return Response(status=204)


class SensorChangesView(ApiView):
    scopes = READ

    @describe_call(
        operation_id="sensors_changes",
        summary="Read a sensor's change log",
        tags=["changes"],
        parameters=PAGE_PARAMETERS,
        responses=ChangeListSerializer,
        errors=[SensorNotFound],
    )
    def get(self, request: Request, sensor_id: str) -> Response:
        """List who changed what of a sensor, newest first; a change can be reverted by its id."""
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
