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
    muted_until = models.DateTimeField(_("muted until"), null=True, blank=True)
    clients = models.ManyToManyField(
        Client, verbose_name=_("clients"), through="SensorClient", related_name="sensors", blank=True
    )
    created_at = models.DateTimeField(_("created"), db_default=Now(), editable=False)

    class Meta:
        verbose_name = _("sensor")
        verbose_name_plural = _("sensors")
        ordering = ["id"]
        indexes = [models.Index(name="sensor_inactive", fields=["id"], condition=Q(active=False))]
        constraints = [
            models.CheckConstraint(
                name="sensor_timeout_in_bounds",
                condition=Q(heartbeat_timeout__gte=1, heartbeat_timeout__lte=LONGEST_TIMEOUT),
            ),
        ]

    def __str__(self) -> str:
        return self.id

    def is_muted(self, at: datetime) -> bool:
        return self.muted_until is not None and at < self.muted_until


class SensorClient(models.Model):
    """The link by which a client is notified about a sensor."""

    sensor = models.ForeignKey(Sensor, verbose_name=_("sensor"), on_delete=models.CASCADE, related_name="links")
    client = models.ForeignKey(Client, verbose_name=_("client"), on_delete=models.CASCADE, related_name="links")
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
        ]

    def __str__(self) -> str:
        return f"{self.sensor_id} → {self.client_id}"
