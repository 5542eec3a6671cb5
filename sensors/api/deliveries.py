"""What clients were told, or are still to be told: by sensor, by client, and one by one."""

from datetime import datetime
from typing import Any, NamedTuple

import msgspec
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from config.common.moments import format_moment
from config.common.pages import page
from config.records.frame import ApiView
from config.records.schema import PAGE_PARAMETERS
from notifications.errors import DeliveryNotFound
from notifications.models import Delivery
from sensors.api.history import CLIENTS_TOO, READ, check_client
from sensors.api.history_shapes import DeliveryListSerializer, DeliverySerializer
from sensors.api.registry import owner_of_sensors
from sensors.selectors import get_sensor_row
from sensors.services.telling import subject_of

COLUMNS = ("id", "type", "subject", "endpoint__client__id", "status", "reason", "due_at", "correlation_id")


class SensorDeliveriesView(ApiView):
    scopes = READ
    key_kinds = CLIENTS_TOO

    @extend_schema(
        operation_id="sensors_deliveries",
        tags=["deliveries"],
        parameters=PAGE_PARAMETERS,
        responses=DeliveryListSerializer,
    )
    def get(self, request: Request, sensor_id: str) -> Response:
        """List the messages about a sensor, newest first; lists of many sensors are with their client."""
        get_sensor_row(sensor_id, owner=owner_of_sensors(request))
        return _answer(request, _visible(request).filter(subject=subject_of(sensor_id)))


class ClientDeliveriesView(ApiView):
    scopes = READ
    key_kinds = CLIENTS_TOO

    @extend_schema(
        operation_id="clients_deliveries",
        tags=["deliveries"],
        parameters=PAGE_PARAMETERS,
        responses=DeliveryListSerializer,
    )
    def get(self, request: Request, client_id: int) -> Response:
        """List the messages to a client, newest first."""
        check_client(request, client_id)
        return _answer(request, _visible(request).filter(endpoint__client=client_id))


class DeliveryView(ApiView):
    scopes = READ
    key_kinds = CLIENTS_TOO

    @extend_schema(operation_id="deliveries_get", tags=["deliveries"], responses=DeliverySerializer)
    def get(self, request: Request, delivery_id: int) -> Response:
        row = _visible(request).filter(pk=delivery_id).values_list(*COLUMNS).first()
        if row is None:
            raise DeliveryNotFound
        return Response(_present(_Row(*row)))


class DeliveryAnswer(msgspec.Struct):
    id: int
    type: str
    sensor: str | None
    client: int | None
    status: str
    reason: str
    attempts: list[dict[str, Any]]
    next_attempt_at: str | None
    correlation_id: str


class _Row(NamedTuple):
    id: int
    type: str
    subject: str
    client_id: int | None
    status: str
    reason: str
    due_at: datetime | None
    correlation_id: str


def _visible(request: Request) -> QuerySet[Delivery]:
    """A client sees what was meant for itself alone, also about sensors that others have too."""
    owner = owner_of_sensors(request)
    return Delivery.objects.all() if owner is None else Delivery.objects.filter(endpoint__client=owner)


def _answer(request: Request, deliveries: QuerySet[Delivery]) -> Response:
    found = page(request, deliveries.values_list(*COLUMNS, named=True), order=["-id"])
    return Response({"results": [_present(_Row(*row)) for row in found.results], "next": found.next})


def _present(row: _Row) -> DeliveryAnswer:
    prefix = subject_of("")
    return DeliveryAnswer(
        id=row.id,
        type=row.type,
        sensor=row.subject.removeprefix(prefix) if row.subject.startswith(prefix) else None,
        client=row.client_id,
        status=row.status,
        reason=row.reason,
        attempts=[],
        next_attempt_at=None if row.due_at is None else format_moment(row.due_at),
        correlation_id=row.correlation_id,
    )
