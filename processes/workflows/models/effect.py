from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from processes.workflows.models.instance import WorkflowInstance


class WorkflowEffect(models.Model):
    """Something that a version does outside its instance: dispatched after the commit, unless a return cancels it."""

    class Kind(models.TextChoices):
        EVENT = "event", pgettext_lazy("effect", "event")
        THROW = "throw", pgettext_lazy("effect", "thrown message")
        SIGNAL = "signal", pgettext_lazy("effect", "signal")
        WEBHOOK = "webhook", pgettext_lazy("effect", "webhook")
        ALERT = "alert", pgettext_lazy("effect", "alert")
        MESSAGE = "message", pgettext_lazy("effect", "message")

    class Status(models.TextChoices):
        WAITING = "waiting", pgettext_lazy("effect", "waiting")
        LEFT = "left", pgettext_lazy("effect", "sent")
        CANCELLED = "cancelled", pgettext_lazy("effect", "cancelled")
        REFUSED = "refused", pgettext_lazy("effect", "refused")

    instance = models.ForeignKey(
        WorkflowInstance, verbose_name=_("instance"), on_delete=models.CASCADE, related_name="effects", db_index=False
    )
    version = models.PositiveIntegerField(_("version"))
    local = models.CharField(_("id"), max_length=30)
    kind = models.CharField(_("kind"), max_length=7, choices=Kind.choices)
    element = models.CharField(_("element"), max_length=200)
    name = models.CharField(_("name"), max_length=200, blank=True)
    inputs = models.TextField(_("inputs"), blank=True)
    status = models.CharField(_("status"), max_length=9, choices=Status.choices, default=Status.WAITING)
    at = models.DateTimeField(_("time"))
    left_at = models.DateTimeField(_("sent"), null=True)
    delivery = models.BigIntegerField(null=True, editable=False)
    """Of a webhook: the id of the delivery, by which a return can recall it."""
    due_at = models.DateTimeField(_("due"), null=True)
    fence = models.BigIntegerField(default=0)
    correlation_id = models.CharField(_("correlation id"), max_length=64, blank=True)

    class Meta:
        db_table = "workflows_effect"
        verbose_name = _("effect")
        verbose_name_plural = _("effects")
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(name="effect_once", fields=["instance", "local"]),
            models.CheckConstraint(
                name="effect_due_exactly_while_waiting",
                condition=Q(status="waiting", due_at__isnull=False) | (~Q(status="waiting") & Q(due_at__isnull=True)),
            ),
            models.CheckConstraint(
                name="effect_left_at_a_time", condition=~Q(status="left") | Q(left_at__isnull=False)
            ),
        ]
        indexes = [
            # `dispatch_due_effects` claims them when due.
            models.Index(name="effect_due", fields=["due_at"], condition=Q(due_at__isnull=False)),
            # A return looks up the effects of the versions that it abandons.
            models.Index(name="effect_version", fields=["instance", "version"]),
            # The trace collects what one call caused.
            models.Index(name="effect_correlation", fields=["correlation_id"], condition=~Q(correlation_id="")),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.name or self.element}"
