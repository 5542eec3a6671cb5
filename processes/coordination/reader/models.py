"""A Reader's tables, in a database of its own: entities, and the events that are to change them."""

from typing import Any

from django.db import models
from django.db.models import Q

from processes.coordination.models.numbers import EventType, Status
from processes.coordination.models.shared import EventRow, PayloadRow, number_of
from processes.coordination.protocol.statuses import FINAL
from processes.coordination.schema.entities import ENTITIES
from processes.coordination.schema.tables import make_change_table, make_entity_table

APP = "coordination_reader"


class AppEventType(EventType):
    pass


class AppEventStatus(Status):
    pass


class AppEventPayloadStatus(Status):
    pass


class AppEvent(EventRow):
    id = models.BigIntegerField(primary_key=True)
    """That of the Writer's event."""
    app_event_type: Any = number_of("AppEventType", null=True)
    """None: of an event that came by its cancellation alone, or of an entity that this reader does not know."""
    position = models.BigIntegerField(default=0)
    reason = models.CharField(max_length=500, blank=True)
    """Why it is refused; empty: it is not."""

    class Meta:
        indexes = [
            # Publishing looks for rows that are not published.
            models.Index(name="reader_event_unpublished", fields=["id"], condition=Q(is_published=False)),
            # Step 28 looks for what is to be processed.
            models.Index(name="reader_event_processing", fields=["id"], condition=Q(app_event_status_id=12)),
        ]

    @property
    def is_over(self) -> bool:
        return self.status in FINAL


class AppEventPayload(PayloadRow):
    id = models.BigIntegerField(primary_key=True)
    app_event = models.ForeignKey(AppEvent, on_delete=models.CASCADE, related_name="payloads")

    class Meta:
        indexes = [
            # Steps 21 and 29 look for payloads that are not published.
            models.Index(name="reader_payload_unpublished", fields=["id"], condition=Q(is_published=False)),
        ]


class ReaderState(models.Model):
    """One row, whose lock lets one process act for this reader at a time."""

    built_at = models.DateTimeField(null=True)
    """When its tables were last filled from the Writer's; never: they are not to be read yet."""

    class Meta:
        constraints = [models.CheckConstraint(name="reader_state_is_one_row", condition=Q(id=1))]


TABLES = {
    entity.name: make_entity_table(entity, app_label=APP, module=__name__, key=entity.key(primary_key=True))
    for entity in ENTITIES
}
COMMITS = {entity.name: make_change_table(entity, "Commit", app_label=APP, module=__name__) for entity in ENTITIES}
ROLLBACKS = {entity.name: make_change_table(entity, "Rollback", app_label=APP, module=__name__) for entity in ENTITIES}
