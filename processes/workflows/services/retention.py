"""Retention: delete instances that ended long ago, where a number of days is set, and the ids of old events."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from config.common.database.sql import load_engine_sql
from processes.workflows.heads import PACKAGE
from processes.workflows.models import (
    PostponedEvent,
    ReceivedEvent,
    WorkflowEffect,
    WorkflowIncident,
    WorkflowInstance,
    WorkflowSubscription,
    WorkflowTimer,
    WorkflowVersion,
    WorkItem,
)

STEP = 100
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
    if not settings.FINISHED_INSTANCE_DAYS:
        return
    ended = WorkflowInstance.objects.filter(
        ended_at__lt=now - timedelta(days=settings.FINISHED_INSTANCE_DAYS), open_incidents=0
    )
    while chosen := list(ended.order_by("ended_at").values_list("pk", flat=True)[:STEP]):
        _delete(chosen)
    with connection.cursor() as cursor:
        cursor.execute(load_engine_sql(PACKAGE, "delete_unused_bodies"))


def _delete(chosen: Sequence[UUID]) -> None:
    with transaction.atomic():
        # The lock waits for a return that is under way; after it the instance has not ended any more, and stays.
        rows = WorkflowInstance.objects.select_for_update().filter(pk__in=chosen, ended_at__isnull=False)
        locked = list(rows.order_by("pk").values_list("pk", flat=True))
        for model in _RELATED:
            model._default_manager.filter(instance__in=locked).delete()
        WorkflowInstance.objects.filter(pk__in=locked).delete()
