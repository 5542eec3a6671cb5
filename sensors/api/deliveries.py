"""Deliveries to clients: by sensor, by client, and one by one; an operator may resend one."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
from django.db.models import QuerySet
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from config.access.authentication import actor_of
from config.access.scopes import Scope
from config.api.base_view import ApiView
from config.api.description import describe_call
from config.api.openapi import PAGE_PARAMETERS
from config.common.database.sql import in_number_array
from config.common.times import format_time
from config.common.web.pagination import (
    PAGE_BYTES,
    collect_page,
    next_page_url,
    paginate_presented,
    read_cursor,
    read_limit,
)
from notifications.errors import ClientInactive, DeliveryNotFound, Superseded
from notifications.models import Delivery
from notifications.selectors import attempts_of, find_next_attempt, newest_about
from notifications.services.resend import resend_delivery
from sensors.api.history import CLIENTS_TOO, READ, check_client
from sensors.api.registry import owner_of_sensors
from sensors.api.shapes import (
    AttemptAnswer,
    DeliveryAnswer,
    DeliveryListSerializer,
    DeliverySerializer,
    present_attempt,
)
from sensors.errors import ClientNotFound, SensorNotFound
from sensors.selectors import check_sensor, get_client
from sensors.subjects import find_sensor_id, subject_of

COLUMNS = (
    "id",
    "type",
    "subject",
    "endpoint__client__id",
    "status",
    "reason",
    "due_at",
    "correlation_id",
    "created_at",
    "message_id",
    "is_forced",
    "endpoint__active",
    "endpoint__paused",
    "endpoint__probe_at",
    "endpoint__not_before",
)
ABOUT = "deliveries about a subject"


class SensorDeliveriesView(ApiView):
    scopes = READ
    key_kinds = CLIENTS_TOO

    @describe_call(
        operation_id="sensors_deliveries",
        summary="List deliveries about a sensor",
        tags=["deliveries"],
        parameters=PAGE_PARAMETERS,
        responses=DeliveryListSerializer,
        errors=[SensorNotFound],
    )
    def get(self, request: Request, sensor_id: str) -> Response:
        """List the webhooks about a sensor with their attempts, newest first; also those that list it among others."""
        check_sensor(sensor_id, owner=owner_of_sensors(request))
        found, address = _page_about(request, subject_of(sensor_id))
        return Response({"results": found, "next": address})


class ClientDeliveriesView(ApiView):
    scopes = READ
    key_kinds = CLIENTS_TOO

    @describe_call(
        operation_id="clients_deliveries",
        summary="List deliveries to a client",
        tags=["deliveries"],
        parameters=PAGE_PARAMETERS,
        responses=DeliveryListSerializer,
        errors=[ClientNotFound],
    )
    def get(self, request: Request, client_id: int) -> Response:
        """List the webhooks to a client with their attempts, newest first."""
        client = check_client(request, client_id)
        rows = _rows(Delivery.objects.filter(endpoint=client.endpoint_id))
        found = paginate_presented(request, rows, order=["-id"], present=_present)
        return Response({"results": found.results, "next": found.next})


class DeliveryView(ApiView):
    scopes = READ
    key_kinds = CLIENTS_TOO

    @describe_call(
        operation_id="deliveries_get",
        summary="Read a delivery",
        tags=["deliveries"],
        responses=DeliverySerializer,
        errors=[DeliveryNotFound],
    )
    def get(self, request: Request, delivery_id: int) -> Response:
        """Return a delivery: its status and reason, every attempt, and when the next one is due."""
        return _answer(_visible(request), delivery_id)


class ResendView(ApiView):
    scopes = {"POST": Scope.OPERATIONS}

    @describe_call(
        operation_id="deliveries_resend",
        summary="Resend a delivery",
        tags=["deliveries"],
        request=None,
        responses={202: DeliverySerializer},
        errors=[DeliveryNotFound, Superseded, ClientInactive],
    )
    def post(self, request: Request, delivery_id: int) -> Response:
        """Send a message again, past an open breaker: a pending one becomes due now, one that ended begins anew.

        Refused with 409 `superseded` when a newer message has followed it, and with 409 `client_inactive`.
        """
        resend_delivery(delivery_id, actor_of(request))
        return _answer(Delivery.objects.all(), delivery_id, status=202)


class _Row(NamedTuple):
    id: int
    type: str
    subject: str
    client_id: int | None
    status: str
    reason: str
    due_at: datetime | None
    correlation_id: str
    created_at: datetime
    message_id: UUID | None
    is_forced: bool
    is_active: bool
    is_paused: bool
    probe_at: datetime | None
    not_before: datetime | None

    def next_attempt(self) -> str | None:
        at = find_next_attempt(
            due_at=self.due_at,
            is_forced=self.is_forced,
            is_sending=self.is_active and not self.is_paused,
            probe_at=self.probe_at,
            not_before=self.not_before,
            now=timezone.now(),
        )
        return None if at is None else format_time(at)


def _visible(request: Request) -> QuerySet[Delivery]:
    """Return the deliveries that the caller may see: a client only its own, also of sensors that others share."""
    owner = owner_of_sensors(request)
    # By the endpoint's number: joined with its client, PostgreSQL expects few deliveries of it, and sorts them all.
    return Delivery.objects.all() if owner is None else Delivery.objects.filter(endpoint=get_client(owner).endpoint_id)


def _rows(deliveries: QuerySet[Delivery]) -> "QuerySet[Delivery, Any]":
    return deliveries.values_list(*COLUMNS, named=True)


def _answer(deliveries: QuerySet[Delivery], delivery_id: int, status: int = 200) -> Response:
    row = _rows(deliveries).filter(pk=delivery_id).first()
    if row is None:
        raise DeliveryNotFound
    return Response(_present([row])[0], status=status)


def _page_about(request: Request, subject: str) -> tuple[list[DeliveryAnswer], str | None]:
    """Read a page of the deliveries about a subject: its own, and the lists that name it."""
    limit, seen = read_limit(request), read_cursor(request, ABOUT)
    newest = newest_about(_visible(request), subject, limit=limit + 1, before=None if seen is None else seen[0])
    shown: list[DeliveryAnswer] = []

    def weigh(part: Sequence[int]) -> Iterator[int]:
        rows = _rows(Delivery.objects.filter(pk__in=in_number_array(part))).order_by("-pk")
        for answer in _present(rows):
            shown.append(answer)
            yield len(msgspec.json.encode(answer))

    found, more = collect_page(newest, limit=limit, weigh=weigh, most_bytes=PAGE_BYTES)
    return shown[: len(found)], next_page_url(request, ABOUT, [found[-1]]) if more else None


def _present(rows: Iterable[Any]) -> list[DeliveryAnswer]:
    deliveries = [_Row(*row) for row in rows]
    attempts = _attempts_of(deliveries)
    return [_present_one(row, attempts.get(row.id, [])) for row in deliveries]


def _attempts_of(deliveries: Sequence[_Row]) -> dict[int, list[AttemptAnswer]]:
    """Return the attempts of all these deliveries, read at once."""
    found: dict[int, list[AttemptAnswer]] = defaultdict(list)
    since = min((row.created_at for row in deliveries), default=None)
    for attempt in attempts_of([row.id for row in deliveries], since=since) if since is not None else ():
        found[attempt.delivery_id].append(present_attempt(attempt))
    return found


def _present_one(row: _Row, attempts: list[AttemptAnswer]) -> DeliveryAnswer:
    return DeliveryAnswer(
        id=row.id,
        type=row.type,
        sensor=find_sensor_id(row.subject),
        client=row.client_id,
        status=row.status,
        reason=row.reason,
        attempts=attempts,
        next_attempt_at=row.next_attempt(),
        correlation_id=row.correlation_id,
        webhook_id=str(row.message_id or row.id),
    )
