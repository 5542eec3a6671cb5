"""What the live page knows: read when something happened, and every two seconds for what happens without an event.

Nothing here grows with history: lists are cut, and a count ends at `MOST_COUNTED`, which then means "or more".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet
from django.utils import translation

from config.dashboard.live.processes import ProcessRow, read_processes
from notifications.models import Alert, Delivery, Sequencer
from processes.exchange.models import ExchangeProcess
from processes.exchange.transitions import LIVE
from sensors.heartbeat.ingest_liveness import is_outage
from sensors.models import SensorState

LONGEST_SECONDS = 2.0
MOST_ALERTS = 20
MOST_COUNTED = 1000
MOST_LOOKED_AT = 200


@dataclass(frozen=True)
class AlertRow:
    id: int
    kind: str
    titles: dict[str, str]
    """In each language of the product."""
    status: str
    last_at: datetime


@dataclass(frozen=True)
class Parts:
    """The parts of the page by their ids or names: all of it, or as much as has changed."""

    processes: Mapping[UUID, ProcessRow]
    sensors: Mapping[str, Any]
    deliveries: Mapping[str, Any]
    alerts: Mapping[int, AlertRow]
    engines: Mapping[str, str]


@dataclass(frozen=True)
class Mark:
    """By this it is seen that something happened, at the cost of two small reads."""

    position: int
    live: tuple[tuple[UUID, str], ...]

    @property
    def is_moving(self) -> bool:
        """Files are being moved, which no event tells of one by one."""
        return any(status == ExchangeProcess.Status.CLEANUP for _, status in self.live)


@dataclass(frozen=True)
class PageState:
    parts: Parts
    mark: Mark
    read_at: float
    """By the monotonic clock."""


def read_state(last: PageState | None, *, now: float) -> PageState | None:
    """Return what the page shows, without the engines; None while two small reads show no sign of news."""
    position = Sequencer.objects.filter(pk=1).values_list("position", flat=True).first() or 0
    live = ExchangeProcess.objects.filter(status__in=LIVE).order_by("-started_at", "-id")
    mark = Mark(position, tuple(live.values_list("pk", "status")[:MOST_LOOKED_AT]))
    if last is not None and mark == last.mark and not mark.is_moving and now - last.read_at < LONGEST_SECONDS:
        return None
    known = None if last is None else last.parts
    parts = Parts(
        processes=read_processes({} if known is None else known.processes),
        sensors={"lost": _count(SensorState.objects.filter(lost_at__isnull=False)), "deaf": is_outage()},
        deliveries={status: _count(Delivery.objects.filter(status=status)) for status in ("pending", "dead")},
        alerts=_read_alerts({} if known is None else known.alerts),
        engines={},
    )
    return PageState(parts, mark, read_at=now)


def _count(rows: QuerySet[Any]) -> int:
    return rows.order_by()[:MOST_COUNTED].count()


def _read_alerts(known: Mapping[int, AlertRow]) -> dict[int, AlertRow]:
    """Return the newest open alerts, and what became of each known one that is no longer among them."""
    found = list(Alert.objects.filter(status=Alert.Status.OPEN).order_by("-id")[:MOST_ALERTS])
    gone = {row.id for row in known.values() if row.status == Alert.Status.OPEN} - {alert.pk for alert in found}
    if gone:
        found += Alert.objects.filter(pk__in=gone)
    return {alert.pk: _alert_row(alert) for alert in found}


def _alert_row(alert: Alert) -> AlertRow:
    titles = {}
    for language, _ in settings.LANGUAGES:
        with translation.override(language):
            titles[language] = alert.words
    return AlertRow(alert.pk, alert.kind, titles, alert.status, alert.last_at)
