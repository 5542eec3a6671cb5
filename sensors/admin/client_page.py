"""What the page of a client shows beside its form: its sensors, their history, its deliveries, its changes."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from django.http import HttpRequest
from django.utils import timezone

from config.admin_base.pages import recent_changes
from config.records.models import ChangeRecord
from notifications.models import Delivery, Endpoint
from notifications.selectors import Waiting, count_waiting
from sensors.admin.history_card import Asked, HistoryCard, build_history, read_asked
from sensors.admin.presentation import state_word
from sensors.admin.sensor_page import ROWS, recent_deliveries
from sensors.api.history import LONGEST_OF_CLIENT
from sensors.history.values import ClientSensors
from sensors.models import Client, OpenDoor, Sensor, SensorClient, SensorState
from sensors.selectors import left_open_doors, longest_lost

SENSORS_SHOWN = 12
SAMPLE = 1000
T = TypeVar("T")


@dataclass(frozen=True)
class DeliveryRecord:
    """The outcomes of a client's newest deliveries: a sample, not the whole history."""

    counts: dict[str, int]
    waiting: Waiting
    """Of all deliveries, not of the sample: staff come to see what waits."""

    @property
    def finished(self) -> int:
        return self.counts.get("delivered", 0) + self.counts.get("dead", 0)

    @property
    def rate(self) -> float | None:
        return 100 * self.counts.get("delivered", 0) / self.finished if self.finished else None

    @property
    def dead(self) -> int:
        return self.counts.get("dead", 0)


@dataclass(frozen=True)
class DrawnSensors:
    """Some of a client's sensors in order of id, and the queries of the pages with those before and after them."""

    rows: list[tuple[Sensor, str]]
    """Each with its state in words."""
    earlier: str
    later: str


@dataclass(frozen=True)
class ClientPage:
    """None stands for what the person may not see."""

    sensors: "DrawnSensors"
    sensor_count: int
    old_secret_until: datetime | None
    endpoint: Endpoint
    waits_until: datetime | None
    """Until when the receiver asked not to be called (`Retry-After`), if that is still to come."""
    history: HistoryCard
    left_open: list[OpenDoor]
    """The first of its doors that are open for longer than they may be."""
    lost: list[SensorState]
    """Of its sensors those that have been lost for longest."""
    record: DeliveryRecord | None
    deliveries: list[tuple[Delivery, str]] | None
    changes: list[ChangeRecord] | None


def build_client_page(request: HttpRequest, client: Client) -> ClientPage:
    def seen(permission: str, read: Callable[[], T]) -> T | None:
        return read() if request.user.has_perm(permission) else None

    endpoint, now = client.endpoint, timezone.now()
    newest = Delivery.objects.filter(endpoint=endpoint).values_list("pk", flat=True)
    asked = read_asked(request, now=now, longest=LONGEST_OF_CLIENT)
    sensors = choose_sensors(client, asked)
    drawn = [sensor.pk for sensor, _ in sensors.rows]
    return ClientPage(
        sensors=sensors,
        sensor_count=SensorClient.objects.filter(client=client).count(),
        old_secret_until=endpoint.old_secret_until,
        endpoint=endpoint,
        waits_until=endpoint.not_before if endpoint.not_before is not None and endpoint.not_before > now else None,
        history=build_history(request, ClientSensors(client.pk), asked, drawn=drawn, endpoint=endpoint.pk),
        left_open=list(left_open_doors(now, client_id=client.pk)[:ROWS]),
        lost=list(longest_lost(client_id=client.pk)[:ROWS]),
        record=seen("notifications.view_delivery", lambda: delivery_record(endpoint.pk)),
        deliveries=seen("notifications.view_delivery", lambda: recent_deliveries(list(newest[:ROWS]))),
        changes=seen("records.view_changerecord", lambda: recent_changes(request, "client", str(client.pk))),
    )


def choose_sensors(client: Client, asked: Asked) -> DrawnSensors:
    """Return the sensors that a page draws: those from the id on that it was asked for."""
    linked = Sensor.objects.filter(links__client=client)
    found = list(linked.filter(pk__gte=asked.first).select_related("state").order_by("pk")[: SENSORS_SHOWN + 1])
    before = list(
        linked.filter(pk__lt=asked.first).order_by("-pk").values_list("pk", flat=True)[:SENSORS_SHOWN]
        if asked.first
        else ()
    )
    return DrawnSensors(
        [(sensor, state_word(sensor.state.value)) for sensor in found[:SENSORS_SHOWN]],
        earlier=asked.query(first=before[-1]) if before else "",
        later=asked.query(first=found[-1].pk) if len(found) > SENSORS_SHOWN else "",
    )


def delivery_record(endpoint_id: int) -> DeliveryRecord:
    newest = Delivery.objects.filter(endpoint=endpoint_id).values_list("status", flat=True)[:SAMPLE]
    return DeliveryRecord(dict(Counter(newest)), count_waiting([endpoint_id])[endpoint_id])
