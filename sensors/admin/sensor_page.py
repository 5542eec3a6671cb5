"""What the page of a sensor shows beside its form: state, chart, events, deliveries, changes."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from django.http import HttpRequest
from django.utils import timezone

from config.admin_base.pages import recent_changes
from config.common.times import from_milliseconds, to_milliseconds
from config.records.models import ChangeRecord
from notifications.models import Delivery, Event
from notifications.selectors import newest_about
from sensors.admin.chart import PERIODS, Chart, draw_chart
from sensors.admin.presentation import attempt_badge, connection_badge, delivery_badge, state_word
from sensors.heartbeat.ingest_liveness import is_outage
from sensors.history.errors import HistoryAway
from sensors.history.queries import read_attempts
from sensors.history.values import PastAttempt, Period
from sensors.models import Sensor, SensorState
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
    periods: list[str]
    chart: Chart | None
    events: list[Event] | None
    deliveries: list[tuple[Delivery, str]] | None
    """Each with the badge of its status."""
    attempts: list[tuple[PastAttempt, datetime, str]] | None
    """Those of the chosen period from history, each with its time and a badge; None also while history is away."""
    changes: list[ChangeRecord] | None


def build_sensor_page(request: HttpRequest, sensor: Sensor) -> SensorPage:
    def seen(permission: str, read: Callable[[], T]) -> T | None:
        return read() if request.user.has_perm(permission) else None

    deliveries = Delivery.objects.all()
    state, outage, subject = sensor.state, is_outage(), subject_of(sensor.pk)
    connection = connection_of(
        active=sensor.active, seen=state.seen_at is not None, lost=state.lost_at is not None, outage=outage
    )
    return SensorPage(
        word=state_word(state.value),
        connection=connection_badge(connection),
        state=state,
        is_outage=outage,
        periods=list(PERIODS),
        chart=draw_chart(sensor.pk, chosen_period(request), now=timezone.now()),
        events=seen("notifications.view_event", lambda: list(Event.objects.filter(subject=subject)[:ROWS])),
        deliveries=seen(
            "notifications.view_delivery",
            lambda: recent_deliveries(newest_about(deliveries, subject, limit=ROWS)),
        ),
        attempts=seen("notifications.view_delivery", lambda: _attempts(sensor.pk, chosen_period(request))),
        changes=seen("records.view_changerecord", lambda: recent_changes(request, "sensor", sensor.pk)),
    )


def chosen_period(request: HttpRequest) -> str:
    period = request.GET.get("period", "")
    return period if period in PERIODS else "24h"


def recent_deliveries(ids: list[int]) -> list[tuple[Delivery, str]]:
    newest = Delivery.objects.filter(pk__in=ids).select_related("endpoint__client")
    return [(delivery, delivery_badge(delivery)) for delivery in newest]


def _attempts(sensor_id: str, period: str) -> list[tuple[PastAttempt, datetime, str]] | None:
    start = to_milliseconds(timezone.now() - PERIODS[period])
    try:
        found = read_attempts([sensor_id], Period(start), limit=ROWS)
    except HistoryAway:
        return None
    return [(attempt, from_milliseconds(attempt.at), attempt_badge(attempt.status)) for attempt in found]
