"""Abstract rows of events and payloads, the same for all roles."""

from typing import Any

from django.db import models
from django.db.models import Q

from processes.coordination.protocol.statuses import EventStatus, PayloadStatus


def number_of(table: str, **options: Any) -> "models.ForeignKey[Any, Any]":
    """Make a column for a number of one of the small tables, of the side that the row is on."""
    return models.ForeignKey(table, on_delete=models.PROTECT, related_name="+", db_index=False, **options)


class EventRow(models.Model):
    is_published = models.BooleanField(default=False)
    date = models.DateTimeField()
    correlation_id = models.CharField(max_length=64, blank=True)
    app_event_type: Any = number_of("AppEventType")  # type: ignore[misc]  # each side has its own
    app_event_status: Any = number_of("AppEventStatus", default=EventStatus.CREATED)  # type: ignore[misc]
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
    app_event_payload_status: Any = number_of("AppEventPayloadStatus", default=PayloadStatus.CREATED)  # type: ignore[misc]
    content = models.TextField()

    class Meta:
        abstract = True

    @property
    def status(self) -> PayloadStatus:
        return PayloadStatus(self.app_event_payload_status_id)


def ended(*statuses: EventStatus) -> Any:
    return Q(app_event_status_id__in=[status.value for status in statuses])
