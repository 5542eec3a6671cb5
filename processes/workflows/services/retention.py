"""Retention: delete instances that ended long ago, where a number of days is set, ids of old events, old batches."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone

from config.common.database.sql import load_engine_sql
from processes.workflows.heads import PACKAGE
from processes.workflows.models import (
    BatchItem,
    PostponedEvent,
    ReceivedEvent,
    WorkflowBatch,
    WorkflowEffect,
    WorkflowIncident,
    WorkflowInstance,
    WorkflowSubscription,
    WorkflowTimer,
    WorkflowVersion,
    WorkItem,
)
from processes.workflows.visits.fold import expire_visits

STEP = 100
DRY_RUN_LIFE = timedelta(days=1)
BATCH_LIFE = timedelta(days=30)
MOST_EXPIRED = 1_000
"""Batches of one turn: there are no more of them."""
_RELATED = (
    WorkItem,
    WorkflowEffect,
    WorkflowIncident,
    WorkflowSubscription,
    WorkflowTimer,
    PostponedEvent,
    WorkflowVersion,
)


def expire_workflows() -> None:
    """Delete what is past its days, in small steps, so that no command waits for long."""
    now = timezone.now()
    ReceivedEvent.objects.filter(received_at__lt=now - timedelta(days=settings.EVENT_DAYS)).delete()
    expire_visits(now)
    _expire_batches(now)
    if not settings.FINISHED_INSTANCE_DAYS:
        return
    ended = WorkflowInstance.objects.filter(
        ended_at__lt=now - timedelta(days=settings.FINISHED_INSTANCE_DAYS), open_incidents=0
    )
    while chosen := list(ended.order_by("ended_at").values_list("pk", flat=True)[:STEP]):
        _delete(chosen)
    with connection.cursor() as cursor:
        cursor.execute(load_engine_sql(PACKAGE, "delete_unused_bodies"))


def _expire_batches(now: datetime) -> None:
    """Delete batches that have ended, one by one with their items: a dry run after a day, what was done after 30."""
    over = WorkflowBatch.objects.filter(due_at__isnull=True)
    tried = Q(status=WorkflowBatch.Status.CHECKED, created_at__lt=now - DRY_RUN_LIFE)
    for batch in over.filter(tried | Q(created_at__lt=now - BATCH_LIFE)).values_list("pk", flat=True)[:MOST_EXPIRED]:
        with transaction.atomic():
            # Under its lock: a dry run that is carried out at this moment stays.
            if over.select_for_update().filter(pk=batch).exists():
                BatchItem.objects.filter(batch=batch).delete()
                WorkflowBatch.objects.filter(pk=batch).delete()


def _delete(chosen: Sequence[UUID]) -> None:
    with transaction.atomic():
        # The lock waits for a return that is under way; after it the instance has not ended any more, and stays.
        rows = WorkflowInstance.objects.select_for_update().filter(pk__in=chosen, ended_at__isnull=False)
        locked = list(rows.order_by("pk").values_list("pk", flat=True))
        for model in _RELATED:
            model._default_manager.filter(instance__in=locked).delete()
        WorkflowInstance.objects.filter(pk__in=locked).delete()
