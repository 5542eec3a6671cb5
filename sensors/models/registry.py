from datetime import datetime

from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

SENSOR_ID = r"[A-Za-z0-9]{1,16}"
LONGEST_TIMEOUT = 30 * 24 * 3600


class Client(models.Model):
    """An organisation that is notified about sensors, at one URL (the endpoint's)."""

    name = models.CharField(_("name"), max_length=200)
    endpoint = models.OneToOneField(
        "notifications.Endpoint", verbose_name=_("endpoint"), on_delete=models.PROTECT, related_name="client"
    )
    active = models.BooleanField(_("active"), default=True)
    muted_until = models.DateTimeField(_("muted until"), null=True, blank=True)
    created_at = models.DateTimeField(_("created"), db_default=Now(), editable=False)

    class Meta:
        verbose_name = _("client")
        verbose_name_plural = _("clients")
        ordering = ["name", "id"]
        indexes = [
            # The list of clients in its order; the import of sensors finds clients by their names.
            models.Index(name="client_by_name", fields=["name", "id"]),
        ]

    def __str__(self) -> str:
        return self.name


class Sensor(models.Model):
    """A door-lock sensor; its id is what the sensor itself sends, and is case-sensitive."""

    id = models.CharField(
        _("id"),
        max_length=16,
        primary_key=True,
        validators=[RegexValidator(rf"^{SENSOR_ID}\Z", _("Enter 1 to 16 letters and digits."))],
    )
    address = models.CharField(_("address"), max_length=500)
    notes = models.TextField(_("notes"), blank=True, max_length=5000)
    active = models.BooleanField(_("active"), default=True)
    heartbeat_timeout = models.PositiveIntegerField(
        _("heartbeat timeout, seconds"),
        default=3600,
        validators=[MinValueValidator(1), MaxValueValidator(LONGEST_TIMEOUT)],
    )
    open_limit = models.PositiveIntegerField(
        _("open limit, seconds"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(LONGEST_TIMEOUT)],
        help_text=_("How long the door may stay open before it is reported. Leave empty for no limit."),
    )
    muted_until = models.DateTimeField(_("muted until"), null=True, blank=True)
    clients = models.ManyToManyField(
        Client, verbose_name=_("clients"), through="SensorClient", related_name="sensors", blank=True
    )
    created_at = models.DateTimeField(_("created"), db_default=Now(), editable=False)

    class Meta:
        verbose_name = _("sensor")
        verbose_name_plural = _("sensors")
        ordering = ["id"]
        indexes = [
            models.Index(name="sensor_inactive", fields=["id"], condition=Q(active=False)),
            # Whether the export has a column of limits.
            models.Index(name="sensor_limited", fields=["id"], condition=Q(open_limit__isnull=False)),
            # The list of staff shows those that are muted.
            models.Index(name="sensor_muted", fields=["muted_until"], condition=Q(muted_until__isnull=False)),
        ]
        constraints = [
            models.CheckConstraint(
                name="sensor_timeout_in_bounds",
                condition=Q(heartbeat_timeout__gte=1, heartbeat_timeout__lte=LONGEST_TIMEOUT),
            ),
            models.CheckConstraint(
                name="sensor_open_limit_in_bounds",
                condition=Q(open_limit__isnull=True) | Q(open_limit__gte=1, open_limit__lte=LONGEST_TIMEOUT),
            ),
        ]

    def __str__(self) -> str:
        return self.id

    def is_muted(self, at: datetime) -> bool:
        return self.muted_until is not None and at < self.muted_until


class SensorClient(models.Model):
    """The link by which a client is notified about a sensor."""

    sensor = models.ForeignKey(Sensor, verbose_name=_("sensor"), on_delete=models.CASCADE, related_name="links")
    client = models.ForeignKey(
        Client, verbose_name=_("client"), on_delete=models.CASCADE, related_name="links", db_index=False
    )
    is_loss_untold = models.BooleanField(db_default=False)
    """The client was not notified of the present loss: muted, or linked since. It is not notified of its end either."""
    tell_at = models.DateTimeField(null=True)
    """When the mute ends that withholds the loss from the client: if it still lasts, the client is notified then."""

    class Meta:
        verbose_name = _("link")
        verbose_name_plural = _("links")
        constraints = [
            models.UniqueConstraint(name="sensor_client_once", fields=["sensor", "client"]),
            models.CheckConstraint(
                name="link_tells_only_what_is_untold", condition=Q(tell_at__isnull=True) | Q(is_loss_untold=True)
            ),
        ]
        indexes = [
            # `publish_unmuted_losses_once` finds the losses whose mutes have ended.
            models.Index(name="link_tell", fields=["tell_at"], condition=Q(tell_at__isnull=False)),
            # The sensors of a client are listed and counted from the index alone: its links lie all over the table.
            models.Index(name="link_of_client", fields=["client", "sensor"]),
        ]

    def __str__(self) -> str:
        return f"{self.sensor_id} → {self.client_id}"


class LinkRecord(models.Model):
    """A link that was made or ended, kept as long as the change log: by it the sensors of a client at a time are found.

    The change log has the same by sensor alone.
    """

    at = models.DateTimeField(_("time"))
    sensor_id = models.CharField(_("sensor"), max_length=16)
    client_id = models.BigIntegerField(_("client"))
    is_linked = models.BooleanField(_("linked"))

    class Meta:
        verbose_name = _("link record")
        verbose_name_plural = _("link records")
        indexes = [
            # The page of a client at a time takes back what came after it.
            models.Index(name="link_record_client", fields=["client_id", "at", "sensor_id"]),
            # The daily upkeep deletes what is as old as the change log.
            models.Index(name="link_record_at", fields=["at"]),
        ]

    def __str__(self) -> str:
        return f"{self.sensor_id} → {self.client_id}: {self.is_linked}"
