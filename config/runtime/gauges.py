"""What waits and what is wrong, counted in the database for `/metrics`: the same number from whichever process answers.

Each count is answered by an index on the rows that it counts, and all of them are read at most once in ten seconds by a
process, however many ask.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from django.db.models import Count, Min
from django.utils import timezone
from prometheus_client.core import GaugeMetricFamily, Metric

from notifications.models import Alert, Delivery, Incident, RepeatSession
from processes.exchange.models import ExchangeProcess
from processes.exchange.transitions import LIVE
from processes.workflows.models import WorkflowIncident, WorkItem
from sensors.models import OpenDoor, SensorState

FRESH_SECONDS = 10.0


@dataclass(frozen=True)
class Gauge:
    name: str
    help: str
    value: float
    labels: tuple[tuple[str, str], ...] = ()


def read_gauges() -> list[Gauge]:
    """Count everything now."""
    return [*_sensor_gauges(), *_delivery_gauges(), *_alert_gauges(), *_process_gauges()]


class GaugeCache:
    """Remembers the gauges for some seconds; of several that ask at once one reads, and the others wait for it."""

    def __init__(self, read: Callable[[], Sequence[Gauge]] = read_gauges, *, seconds: float = FRESH_SECONDS) -> None:
        self._read, self._seconds = read, seconds
        self._lock = threading.Lock()
        self._known: Sequence[Gauge] = ()
        self._read_at = float("-inf")

    def get(self) -> Sequence[Gauge]:
        with self._lock:
            if time.monotonic() - self._read_at >= self._seconds:
                self._known = self._read()
                self._read_at = time.monotonic()
            return self._known


def to_metrics(gauges: Sequence[Gauge]) -> Iterator[Metric]:
    """Yield the gauges as Prometheus has them: those of one name together."""
    families: dict[str, GaugeMetricFamily] = {}
    for gauge in gauges:
        names = [name for name, _ in gauge.labels]
        family = families.setdefault(gauge.name, GaugeMetricFamily(gauge.name, gauge.help, labels=names))
        family.add_metric([value for _, value in gauge.labels], gauge.value)
    yield from families.values()


def _sensor_gauges() -> Iterator[Gauge]:
    lost = SensorState.objects.filter(lost_at__isnull=False).count()
    yield Gauge("postern_sensors_lost", "Sensors whose connection is lost", lost)
    left_open = OpenDoor.objects.filter(limit_at__lte=timezone.now()).count()
    yield Gauge("postern_sensors_left_open", "Doors that have been open for longer than their limit", left_open)


def _delivery_gauges() -> Iterator[Gauge]:
    # Ids rise with time, so the least of them is the oldest: one pass over the index of what is pending.
    pending = Delivery.objects.filter(status=Delivery.Status.PENDING).aggregate(count=Count("pk"), oldest=Min("pk"))
    created_at = Delivery.objects.filter(pk=pending["oldest"]).values_list("created_at", flat=True).first()
    age = 0.0 if created_at is None else max(0.0, (timezone.now() - created_at).total_seconds())
    dead = Delivery.objects.filter(status=Delivery.Status.DEAD).count()
    yield Gauge("postern_deliveries_pending", "Deliveries that are still to be made", pending["count"])
    yield Gauge("postern_deliveries_oldest_pending_seconds", "Age of the oldest pending delivery", age)
    yield Gauge("postern_deliveries_dead", "Deliveries whose attempts are used up", dead)


def _alert_gauges() -> Iterator[Gauge]:
    statuses = (Alert.Status.OPEN, Alert.Status.ACKNOWLEDGED)
    counts = dict(Alert.objects.filter(status__in=statuses).order_by().values_list("status").annotate(Count("pk")))
    for status in statuses:
        labels = (("status", status.value),)
        yield Gauge("postern_alerts", "Alerts that are not resolved, by status", counts.get(status, 0), labels)
    incidents = Incident.objects.filter(resolved_at__isnull=True).count()
    yield Gauge("postern_follower_incidents", "Events that a follower has set aside for a person", incidents)
    exhausted = RepeatSession.objects.filter(status=RepeatSession.Status.EXHAUSTED).count()
    yield Gauge("postern_sessions_exhausted", "Repeat sessions whose repeats are used up", exhausted)


def _process_gauges() -> Iterator[Gauge]:
    processes = ExchangeProcess.objects
    in_doubt = processes.filter(status=ExchangeProcess.Status.IN_DOUBT).count()
    yield Gauge("postern_exchange_in_doubt", "Exchange processes that are in doubt", in_doubt)
    # The index has the processes that hold a lane: those that failed are among them.
    failed = processes.filter(status__in=LIVE).filter(status=ExchangeProcess.Status.FAILED).count()
    yield Gauge("postern_exchange_failed", "Exchange processes whose files could not be moved", failed)
    tasks = WorkItem.objects.filter(status=WorkItem.Status.OPEN, kind__in=WorkItem.FOR_PEOPLE).count()
    yield Gauge("postern_workflow_tasks", "Tasks that wait for a person", tasks)
    incidents = WorkflowIncident.objects.filter(status=WorkflowIncident.Status.OPEN).count()
    yield Gauge("postern_workflow_incidents", "Workflow steps that failed for good and wait for a person", incidents)
