"""Who exchanges messages. What a device belongs to follows from its subsystem, so the two can never disagree."""

import re

from django.core.validators import RegexValidator
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

PARTY_ID = r"[A-Za-z0-9-]{1,36}"

_PARTY_ID = re.compile(PARTY_ID)

_party_id_rule = RegexValidator(rf"^{PARTY_ID}\Z", _("Enter 1 to 36 letters, digits and hyphens."))


def is_party_id(text: str) -> bool:
    return _PARTY_ID.fullmatch(text) is not None


class Enterprise(models.Model):
    """An organisation; nobody of one enterprise sees another's."""

    id = models.CharField(_("id"), max_length=36, primary_key=True, validators=[_party_id_rule])
    name = models.CharField(_("name"), max_length=200)
    active = models.BooleanField(_("active"), default=True)
    created_at = models.DateTimeField(_("created"), db_default=Now(), editable=False)

    class Meta:
        verbose_name = _("enterprise")
        verbose_name_plural = _("enterprises")
        ordering = ["id"]

    def __str__(self) -> str:
        return self.name


class Subsystem(models.Model):
    """A mobile solution of an enterprise."""

    id = models.CharField(_("id"), max_length=36, primary_key=True, validators=[_party_id_rule])
    enterprise = models.ForeignKey(
        Enterprise, verbose_name=_("enterprise"), on_delete=models.PROTECT, related_name="subsystems"
    )
    name = models.CharField(_("name"), max_length=200)
    created_at = models.DateTimeField(_("created"), db_default=Now(), editable=False)

    class Meta:
        verbose_name = _("subsystem")
        verbose_name_plural = _("subsystems")
        ordering = ["id"]

    def __str__(self) -> str:
        return self.name


class Device(models.Model):
    """The account of a mobile device, bound to one subsystem and through it to one enterprise."""

    id = models.CharField(_("id"), max_length=36, primary_key=True, validators=[_party_id_rule])
    subsystem = models.ForeignKey(
        Subsystem, verbose_name=_("subsystem"), on_delete=models.PROTECT, related_name="devices"
    )
    name = models.CharField(_("name"), max_length=200)
    active = models.BooleanField(_("active"), default=True)
    created_at = models.DateTimeField(_("created"), db_default=Now(), editable=False)

    class Meta:
        verbose_name = _("device")
        verbose_name_plural = _("devices")
        ordering = ["id"]

    def __str__(self) -> str:
        return self.name

    @property
    def enterprise_id(self) -> str:
        return self.subsystem.enterprise_id


class ExchangeDatabase(models.Model):
    """An ERP database. Its id is stable, unlike one that a restore changes, and names its folder."""

    id = models.CharField(_("id"), max_length=36, primary_key=True, validators=[_party_id_rule])
    enterprise = models.ForeignKey(
        Enterprise, verbose_name=_("enterprise"), on_delete=models.PROTECT, related_name="databases"
    )
    name = models.CharField(_("name"), max_length=200)
    active = models.BooleanField(_("active"), default=True)
    created_at = models.DateTimeField(_("created"), db_default=Now(), editable=False)

    class Meta:
        verbose_name = _("database")
        verbose_name_plural = _("databases")
        ordering = ["id"]

    def __str__(self) -> str:
        return self.name


class LastRequest(models.Model):
    """When a database last asked for messages (API_1) and what it was answered; kept to within some seconds.

    Calls that begin a process leave a process. Those that find nothing leave this one row, whatever their number.
    """

    class Answer(models.TextChoices):
        OK = "OK", _("messages handed out")
        IDLE = "IDLE", _("no messages waiting")
        BUSY = "BUSY", _("busy with another process")

    database = models.OneToOneField(
        ExchangeDatabase,
        verbose_name=_("database"),
        primary_key=True,
        on_delete=models.CASCADE,
        related_name="last_request",
    )
    asked_at = models.DateTimeField(_("last request"))
    lane = models.JSONField(_("lane"), default=list)
    """The subsystems it asked for; empty: all."""
    answer = models.CharField(_("answer"), max_length=4, choices=Answer.choices)

    class Meta:
        verbose_name = _("last request")
        verbose_name_plural = _("last requests")

    def __str__(self) -> str:
        return f"{self.database_id} {self.answer}"
