"""What the page of a client shows beside its form: its sensors, the outcome of its deliveries, its changes."""

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
from sensors.admin.presentation import state_word
from sensors.admin.sensor_page import ROWS, recent_deliveries
from sensors.models import Client, Sensor, SensorClient

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
class ClientPage:
    """None stands for what the person may not see."""

    sensors: list[tuple[Sensor, str]]
    """The first of them, each with its state in words."""
    sensor_count: int
    old_secret_until: datetime | None
    endpoint: Endpoint
    waits_until: datetime | None
    """Until when the receiver asked not to be called (`Retry-After`), if that is still to come."""
    record: DeliveryRecord | None
    deliveries: list[tuple[Delivery, str]] | None
    changes: list[ChangeRecord] | None


def build_client_page(request: HttpRequest, client: Client) -> ClientPage:
    def seen(permission: str, read: Callable[[], T]) -> T | None:
        return read() if request.user.has_perm(permission) else None

    endpoint, now = client.endpoint, timezone.now()
    newest = Delivery.objects.filter(endpoint=endpoint).values_list("pk", flat=True)
    links = SensorClient.objects.filter(client=client)
    sensors = Sensor.objects.filter(links__client=client).select_related("state")[:SENSORS_SHOWN]
    return ClientPage(
        sensors=[(sensor, state_word(sensor.state.value)) for sensor in sensors],
        sensor_count=links.count(),
        old_secret_until=endpoint.old_secret_until,
        endpoint=endpoint,
        waits_until=endpoint.not_before if endpoint.not_before is not None and endpoint.not_before > now else None,
        record=seen("notifications.view_delivery", lambda: delivery_record(endpoint.pk)),
        deliveries=seen("notifications.view_delivery", lambda: recent_deliveries(list(newest[:ROWS]))),
        changes=seen("records.view_changerecord", lambda: recent_changes(request, "client", str(client.pk))),
    )


def delivery_record(endpoint_id: int) -> DeliveryRecord:
    newest = Delivery.objects.filter(endpoint=endpoint_id).values_list("status", flat=True)[:SAMPLE]
    return DeliveryRecord(dict(Counter(newest)), count_waiting([endpoint_id])[endpoint_id])
