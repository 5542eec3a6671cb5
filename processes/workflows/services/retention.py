"""Forget what is over: instances that ended long ago, where that is wanted, and the ids of old events."""

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
_PARTS = (
    WorkItem,
    WorkflowEffect,
    WorkflowIncident,
    WorkflowSubscription,
    WorkflowTimer,
    PostponedEvent,
    WorkflowVersion,
)


def expire_workflows() -> None:
    """Forget in small steps, so that nobody waits."""
    now = timezone.now()
    ReceivedEvent.objects.filter(received_at__lt=now - timedelta(days=settings.EVENT_DAYS)).delete()
    if not settings.FINISHED_INSTANCE_DAYS:
        return
    over = WorkflowInstance.objects.filter(
        ended_at__lt=now - timedelta(days=settings.FINISHED_INSTANCE_DAYS), open_incidents=0
    )
    while chosen := list(over.order_by("ended_at").values_list("pk", flat=True)[:STEP]):
        _forget(chosen)
    with connection.cursor() as cursor:
        cursor.execute(load_engine_sql(PACKAGE, "forget_bodies"))


def _forget(chosen: Sequence[UUID]) -> None:
    """Forget finished instances; one that is returned from its end at this moment is waited for, and stays."""
    with transaction.atomic():
        rows = WorkflowInstance.objects.select_for_update().filter(pk__in=chosen, ended_at__isnull=False)
        held = list(rows.order_by("pk").values_list("pk", flat=True))
        for part in _PARTS:
            part._default_manager.filter(instance__in=held).delete()
        WorkflowInstance.objects.filter(pk__in=held).delete()
