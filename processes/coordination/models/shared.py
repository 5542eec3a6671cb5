"""What the rows of an event have in common, whichever role keeps them: the document gives all of them the same."""

from typing import Any

from django.db import models
from django.db.models import Q

from processes.coordination.statuses import EventStatus, PayloadStatus


class EventRow(models.Model):
    is_published = models.BooleanField(default=False)
    date = models.DateTimeField()
    correlation_id = models.CharField(max_length=64, blank=True)
    app_event_type_id = models.IntegerField()
    app_event_status_id = models.IntegerField(default=EventStatus.CREATED)
    payload_count = models.IntegerField(default=0)
    steps = models.JSONField(default=dict)
    """When each step of this role was first taken."""

    class Meta:
        abstract = True

    @property
    def status(self) -> EventStatus:
        return EventStatus(self.app_event_status_id)


class PayloadRow(models.Model):
    is_published = models.BooleanField(default=False)
    date = models.DateTimeField()
    app_event_payload_status_id = models.IntegerField(default=PayloadStatus.CREATED)
    content = models.TextField()

    class Meta:
        abstract = True


def known_status(name: str) -> models.CheckConstraint:
    return models.CheckConstraint(
        name=name, condition=Q(app_event_status_id__in=[status.value for status in EventStatus])
    )


def known_payload_status(name: str) -> models.CheckConstraint:
    return models.CheckConstraint(
        name=name, condition=Q(app_event_payload_status_id__in=[status.value for status in PayloadStatus])
    )


def ended(*statuses: EventStatus) -> Any:
    return Q(app_event_status_id__in=[status.value for status in statuses])
