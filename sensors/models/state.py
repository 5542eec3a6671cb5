from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from sensors.models.registry import Sensor


class SensorState(models.Model):
    """What is known of a sensor now; locked, folded and written by every batch of signals.

    `value` belongs to the greatest `(last_at, last_id)` ever accepted, whatever the order of arrival. The columns that
    every batch writes carry no index, so the update stays within the page; `check_at` alone is indexed, and only the
    sweep, a first signal and a restore move it. `recent` and `page` are the newest of its memory (`SignalPage`).
    """

    sensor = models.OneToOneField(
        Sensor, verbose_name=_("sensor"), primary_key=True, on_delete=models.CASCADE, related_name="state"
    )
    value = models.PositiveSmallIntegerField(_("state"), null=True)
    changed_at = models.DateTimeField(_("since"), null=True)
    last_at = models.DateTimeField(_("latest signal"), null=True)
    last_id = models.CharField(max_length=64, blank=True)
    seen_at = models.DateTimeField(_("last seen"), null=True)
    heard_at = models.DateTimeField(null=True)
    """When the latest signal was applied, in steady time (`SteadyClock`), as `check_at` is: silence is judged by these
    two; `seen_at` and `lost_at` are for people, by the database's clock."""
    lost_at = models.DateTimeField(_("lost since"), null=True)
    check_at = models.DateTimeField(null=True)
    recent = models.BinaryField(db_default=b"")
    page = models.PositiveIntegerField(db_default=0)

    class Meta:
        verbose_name = _("state")
        verbose_name_plural = _("states")
        constraints = [
            models.CheckConstraint(name="state_value_is_a_bit", condition=Q(value__isnull=True) | Q(value__in=[0, 1])),
            models.CheckConstraint(
                name="state_known_with_its_signal",
                condition=Q(value__isnull=True, changed_at__isnull=True, last_at__isnull=True)
                | Q(value__isnull=False, changed_at__isnull=False, last_at__isnull=False),
            ),
            models.CheckConstraint(
                name="state_lost_only_when_seen", condition=Q(lost_at__isnull=True) | Q(seen_at__isnull=False)
            ),
        ]
        indexes = [
            # The sweep of the heartbeat finds whom to look at.
            models.Index(name="state_check", fields=["check_at"], condition=Q(check_at__isnull=False)),
            # The lists filter by connection: the lost ones are few. Pages show first what has been lost for longest.
            models.Index(name="state_lost", fields=["lost_at", "sensor"], condition=Q(lost_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"{self.sensor_id}: {self.value}"


class OpenDoor(models.Model):
    """A door that stands open and has a limit: one row from the signal that opened it to the one that closes it.

    A table of its own: the state rows, which every batch writes, stay as they are, and a door without a limit costs
    nothing. Whoever writes here holds the lock of the sensor's state row.
    """

    sensor = models.OneToOneField(
        Sensor, verbose_name=_("sensor"), primary_key=True, on_delete=models.CASCADE, related_name="open_door"
    )
    opened_at = models.DateTimeField(_("open since"))
    limit_at = models.DateTimeField(_("limit reached"))
    """By the database's clock, as `opened_at`: for people."""
    heard_at = models.DateTimeField()
    """When it was opened, in steady time (`SteadyClock`), as `due_at` is: how long it has been open is judged by it."""
    due_at = models.DateTimeField(null=True)
    """When to look at it; null once it is reported, and while its connection is lost."""
    reported_at = models.DateTimeField(_("reported"), null=True)
    correlation_id = models.CharField(_("correlation id"), max_length=64, blank=True)
    """That of the signal which opened it."""

    class Meta:
        verbose_name = _("open door")
        verbose_name_plural = _("open doors")
        constraints = [
            models.CheckConstraint(
                name="open_door_is_reported_once", condition=Q(reported_at__isnull=True) | Q(due_at__isnull=True)
            ),
        ]
        indexes = [
            # The sweep finds whom to look at.
            models.Index(name="open_door_due", fields=["due_at"], condition=Q(due_at__isnull=False)),
            # The page of doors that are open too long shows first what has been so for longest.
            models.Index(name="open_door_limit", fields=["limit_at"]),
        ]

    def __str__(self) -> str:
        return self.sensor_id


class SignalPage(models.Model):
    """Digests of signals that a sensor has sent before those in its state row; the oldest page is written over."""

    pk = models.CompositePrimaryKey("sensor_id", "number")
    sensor = models.ForeignKey(
        Sensor, verbose_name=_("sensor"), on_delete=models.CASCADE, related_name="+", db_index=False
    )
    number = models.PositiveSmallIntegerField()
    digests = models.BinaryField()

    class Meta:
        constraints = [models.CheckConstraint(name="signal_pages_are_few", condition=Q(number__lt=16))]

    def __str__(self) -> str:
        return f"{self.sensor_id}: {self.number}"
