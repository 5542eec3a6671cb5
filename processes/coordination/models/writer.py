"""The Writer's tables: entities, the events of their changes, and the rows that commit or undo them."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from processes.coordination.models.shared import EventRow, PayloadRow, ended
from processes.coordination.protocol.statuses import EventStatus
from processes.coordination.schema.entities import DUMMY_ITEM, DUMMY_NODE, ENTITIES
from processes.coordination.schema.tables import make_change_table, make_entity_table

APP = "coordination"


class AppEvent(EventRow):
    """One change set. Its id is taken after the rows it changes are locked, so events of one row have ids in order.

    `position` has no gaps and is given to committed events alone, in the order of their ids: by it the Coordinator
    knows that it has all that came before.
    """

    position = models.BigIntegerField(_("position"), null=True, unique=True)
    is_undone = models.BooleanField(default=True)
    changes = models.JSONField(null=True)
    """Ids of lines of the change log that are still to be made into payloads."""
    again_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(_("ended"), null=True)
    reason = models.CharField(_("reason"), max_length=500, blank=True)
    """Why it was cancelled, or why its compensation failed."""
    cancel_reason = models.CharField(max_length=500, blank=True)
    """Why it was cancelled, also while something stands in the way of its compensation, and when it is resolved."""
    resolved_by = models.CharField(_("resolved by"), max_length=160, blank=True)
    resolution = models.CharField(_("resolution"), max_length=500, blank=True)

    class Meta:
        verbose_name = _("change set")
        verbose_name_plural = _("change sets")
        ordering = ["-id"]
        indexes = [
            # The Writer makes payloads from the change log.
            models.Index(name="app_event_unfilled", fields=["id"], condition=Q(changes__isnull=False)),
            # The Writer numbers what has been committed.
            models.Index(name="app_event_unnumbered", fields=["id"], condition=Q(position__isnull=True)),
            # Step 2 looks for what is not published.
            models.Index(
                name="app_event_unpublished",
                fields=["position"],
                condition=Q(is_published=False) & ended(EventStatus.CREATED),
            ),
            # What has stayed in one status for long is published again.
            models.Index(name="app_event_again", fields=["again_at"], condition=Q(again_at__isnull=False)),
            # The lists of the events of one status, newest first.
            models.Index(name="app_event_of_status", fields=["app_event_status_id", "-id"]),
            # Retention and slimming look for what ended long ago.
            models.Index(name="app_event_ended", fields=["ended_at"], condition=Q(ended_at__isnull=False)),
            # The trace collects what one call caused.
            models.Index(name="app_event_correlation", fields=["correlation_id"], condition=~Q(correlation_id="")),
        ]

    def __str__(self) -> str:
        return str(self.pk)


class AppEventPayload(PayloadRow):
    app_event = models.ForeignKey(AppEvent, on_delete=models.CASCADE, related_name="payloads")
    change_id = models.BigIntegerField(null=True)
    """The line of the change log that it was made of, and which part of it."""
    part = models.IntegerField(default=0)

    class Meta:
        constraints = [
            # However often the change log is read, each line of it is made into payloads once.
            models.UniqueConstraint(name="payload_once_per_change", fields=["change_id", "part"]),
        ]


class WriterState(models.Model):
    """The last position given out: one row, whose lock lets one number at a time."""

    position = models.BigIntegerField(default=0)

    class Meta:
        constraints = [models.CheckConstraint(name="writer_state_is_one_row", condition=Q(id=1))]


DummyItem = make_entity_table(
    DUMMY_ITEM,
    app_label=APP,
    module=__name__,
    key=models.BigAutoField(primary_key=True),
    last_event_id=models.BigIntegerField(),
)
DummyNode = make_entity_table(
    DUMMY_NODE,
    app_label=APP,
    module=__name__,
    key=models.BigAutoField(primary_key=True),
    last_event_id=models.BigIntegerField(),
)
TABLES = {"DummyItem": DummyItem, "DummyNode": DummyNode} | {
    entity.name: make_entity_table(
        entity,
        app_label=APP,
        module=__name__,
        key=models.BigAutoField(primary_key=True),
        last_event_id=models.BigIntegerField(),
    )
    for entity in ENTITIES
    if entity.app
}
"""The Writer's own; the registry's tables belong to the sensors."""
COMMITS = {entity.name: make_change_table(entity, "Commit", app_label=APP, module=__name__) for entity in ENTITIES}
ROLLBACKS = {
    entity.name: make_change_table(
        entity, "Rollback", app_label=APP, module=__name__, previous_event_id=models.BigIntegerField(null=True)
    )
    for entity in ENTITIES
}
