"""What the page of a sensor shows beside its form: state, history, deliveries, changes."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from django.http import HttpRequest
from django.utils import timezone

from config.admin_base.pages import recent_changes
from config.records.models import ChangeRecord
from notifications.models import Delivery
from notifications.selectors import newest_about
from sensors.admin.history_card import HistoryCard, build_history, read_asked
from sensors.admin.presentation import connection_badge, delivery_badge, state_word
from sensors.models import OpenDoor, Sensor, SensorState
from sensors.selectors import connection_of
from sensors.subjects import subject_of

ROWS = 10
T = TypeVar("T")


@dataclass(frozen=True)
class SensorPage:
    """None stands for what the person may not see."""

    word: str
    connection: str
    state: SensorState
    is_outage: bool
    history: HistoryCard
    limit_at: datetime | None
    """When the open door reached its limit, or will."""
    is_left_open: bool
    deliveries: list[tuple[Delivery, str]] | None
    """Each with the badge of its status."""
    changes: list[ChangeRecord] | None


def build_sensor_page(request: HttpRequest, sensor: Sensor) -> SensorPage:
    def seen(permission: str, read: Callable[[], T]) -> T | None:
        return read() if request.user.has_perm(permission) else None

    deliveries, now = Delivery.objects.all(), timezone.now()
    door: OpenDoor | None = getattr(sensor, "open_door", None)
    limit_at = None if door is None else door.limit_at
    state, subject = sensor.state, subject_of(sensor.pk)
    outage = bool(getattr(sensor, "is_outage", False))  # the page's own query has asked
    connection = connection_of(
        active=sensor.active, seen=state.seen_at is not None, lost=state.lost_at is not None, outage=outage
    )
    return SensorPage(
        word=state_word(state.value),
        connection=connection_badge(connection),
        state=state,
        is_outage=outage,
        history=build_history(request, [sensor.pk], read_asked(request, now=now), drawn=[sensor.pk]),
        limit_at=limit_at,
        is_left_open=limit_at is not None and limit_at <= now,
        deliveries=seen(
            "notifications.view_delivery",
            lambda: recent_deliveries(newest_about(deliveries, subject, limit=ROWS)),
        ),
        changes=seen("records.view_changerecord", lambda: recent_changes(request, "sensor", sensor.pk)),
    )


def recent_deliveries(ids: list[int]) -> list[tuple[Delivery, str]]:
    newest = Delivery.objects.filter(pk__in=ids).select_related("endpoint__client")
    return [(delivery, delivery_badge(delivery)) for delivery in newest]
