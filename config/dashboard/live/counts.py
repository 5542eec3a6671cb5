"""All bounded counts of the live page, by one query; each ends at `MOST_COUNTED`, which then means "or more"."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.contrib.contenttypes.models import ContentType
from django.db.models import QuerySet

from config.common.database.sql import CountUpTo
from notifications.models import Alert, Delivery, Incident, RepeatSession
from notifications.services.resend import select_dead_letters
from processes.coordination.models import AppEvent
from processes.coordination.protocol.statuses import EventStatus
from processes.coordination.schema.routing import reader_names
from processes.coordination.selectors import UNDER_WAY, unended_of
from processes.workflows.models import WorkflowIncident, WorkflowInstance, WorkflowTimer, WorkItem
from processes.workflows.models.instance import Status
from sensors.models import SensorState

MOST_COUNTED = 1000
FOR_PEOPLE = (WorkItem.Kind.USER, WorkItem.Kind.MANUAL)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


def read_counts(at: datetime) -> dict[str, int]:
    """Return how many rows each question of the page has found, none counted further than `MOST_COUNTED`."""
    counts = {
        name: CountUpTo(rows.order_by().values("pk")[:MOST_COUNTED])
        for questions in (_questions_of_notifications(at), _questions_of_processes(at))
        for name, rows in questions.items()
    }
    # Any table that has a row: each count stands by itself, read by an index of its own.
    rows = ContentType.objects.order_by("pk").annotate(**counts).values(*counts)[:1]
    return next(iter(rows), dict.fromkeys(counts, 0))


def _questions_of_notifications(at: datetime) -> dict[str, QuerySet[Any]]:
    pending = Delivery.objects.filter(status=Delivery.Status.PENDING)
    sessions = RepeatSession.objects.filter(status=RepeatSession.Status.SAVED)
    return {
        "lost": SensorState.objects.filter(lost_at__isnull=False),
        "alerts": Alert.objects.filter(status=Alert.Status.OPEN),
        "incidents": Incident.objects.filter(resolved_at=None),
        "pending": pending,
        "retries": pending.filter(is_retry=True),
        "dead": Delivery.objects.filter(status=Delivery.Status.DEAD),
        "dead_letters": select_dead_letters(),
        "sessions_overdue": sessions.filter(due_at__lte=at),
        "sessions_due": sessions.filter(due_at__lte=at + HOUR),
        "exhausted": RepeatSession.objects.filter(status=RepeatSession.Status.EXHAUSTED),
    }


def _questions_of_processes(at: datetime) -> dict[str, QuerySet[Any]]:
    timers = WorkflowTimer.objects.filter(due_at__isnull=False)
    # The least id that `new_id` can have made within the minute: ids rise with the time of the start.
    first_id = UUID(int=int((at - MINUTE).timestamp() * 1000) << 80)
    return {
        "active": WorkflowInstance.objects.filter(status=Status.ACTIVE),
        "tasks": WorkItem.objects.filter(status=WorkItem.Status.OPEN, kind__in=FOR_PEOPLE),
        "timers_due": timers.filter(due_at__lte=at),
        "timers": timers.filter(due_at__lte=at + HOUR),
        "workflow_incidents": WorkflowIncident.objects.filter(status=WorkflowIncident.Status.OPEN),
        "started": WorkflowInstance.objects.filter(pk__gte=first_id),
        "ended": WorkflowInstance.objects.filter(ended_at__gte=at - MINUTE),
        "under_way": AppEvent.objects.filter(app_event_status_id__in=UNDER_WAY),
        "compensations": AppEvent.objects.filter(app_event_status_id=EventStatus.COMPENSATION_FAILED.value),
        **{f"waiting_{name}": unended_of(name) for name in reader_names()},
    }
