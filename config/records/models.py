"""The tables everyone leans on: keys, idempotency records, the change log, failed sign-ins."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from config.records.scopes import Scope, permission


class AccessKey(models.Model):
    """A bearer key: of a service with scopes, or of one client, device or database, named by `subject`.

    One table for all kinds, so that there is one way to make, find, end and rate a key.
    """

    class Kind(models.TextChoices):
        SERVICE = "service", _("service")
        CLIENT = "client", _("client")
        DEVICE = "device", _("device")
        DATABASE = "database", _("database")

    name = models.CharField(_("name"), max_length=100)
    kind = models.CharField(_("kind"), max_length=10, choices=Kind.choices, default=Kind.SERVICE)
    subject = models.CharField(_("belongs to"), max_length=64, blank=True)
    scopes = models.JSONField(_("scopes"), default=list, blank=True)
    prefix = models.CharField(_("begins with"), max_length=16, unique=True, editable=False)
    digest = models.BinaryField(max_length=32, editable=False)
    created_at = models.DateTimeField(_("created"), db_default=Now(), editable=False)
    expires_at = models.DateTimeField(_("expires"), null=True, blank=True)
    ended_at = models.DateTimeField(_("ended"), null=True, blank=True, editable=False)

    class Meta:
        verbose_name = _("access key")
        verbose_name_plural = _("access keys")
        ordering = ["-created_at", "-id"]
        permissions = [(permission(scope.value), scope.value) for scope in Scope]
        constraints = [
            models.CheckConstraint(
                name="access_key_subject_unless_service", condition=Q(kind="service") ^ ~Q(subject="")
            ),
            models.CheckConstraint(
                name="access_key_scopes_only_of_service", condition=Q(kind="service") | Q(scopes=[])
            ),
        ]
        indexes = [
            # Rotation and the pages of a client, device or database look up its keys.
            models.Index(name="access_key_subject", fields=["kind", "subject"]),
        ]

    def __str__(self) -> str:
        return self.name


class IdempotencyRecord(models.Model):
    """The first answer to a creating call, kept for its repeats; written in the transaction of the effect."""

    owner = models.CharField(max_length=40)
    key = models.CharField(max_length=64)
    digest = models.BinaryField(max_length=32)
    status = models.PositiveSmallIntegerField(null=True)
    answer = models.BinaryField(null=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(name="idempotency_once_per_owner", fields=["owner", "key"])]
        indexes = [
            # The hourly upkeep deletes what is older than a day.
            models.Index(name="idempotency_age", fields=["created_at"]),
        ]


class ChangeRecord(models.Model):
    """One change of a registered object: who, when, before, after. Outlives the object; never holds a secret."""

    class Action(models.TextChoices):
        CREATED = "created", _("created")
        CHANGED = "changed", _("changed")
        DELETED = "deleted", _("deleted")

    at = models.DateTimeField(_("time"), db_default=Now())
    actor = models.CharField(_("who"), max_length=160)
    action = models.CharField(_("action"), max_length=8, choices=Action.choices)
    kind = models.CharField(_("kind"), max_length=40)
    object_id = models.CharField(_("object"), max_length=64)
    before = models.JSONField(_("before"), null=True)
    after = models.JSONField(_("after"), null=True)
    correlation_id = models.CharField(_("correlation id"), max_length=64, blank=True)
    reverts = models.OneToOneField(
        "self", verbose_name=_("reverts"), null=True, on_delete=models.PROTECT, related_name="reverted_by"
    )

    class Meta:
        verbose_name = _("registry change")
        verbose_name_plural = _("registry changes")
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                name="change_has_the_sides_of_its_action",
                condition=Q(action="created", before__isnull=True, after__isnull=False)
                | Q(action="changed", before__isnull=False, after__isnull=False)
                | Q(action="deleted", before__isnull=False, after__isnull=True),
            ),
        ]
        indexes = [
            # `GET /sensors/{id}/changes/` and the object's page list the changes of one object, newest first.
            models.Index(name="change_of_object", fields=["kind", "object_id", "-id"]),
            # The trace page collects what one call caused.
            models.Index(name="change_correlation", fields=["correlation_id"], condition=~Q(correlation_id="")),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.object_id}"


class SignInAttempt(models.Model):
    """Failed sign-ins of one name from one address within the running window."""

    name = models.CharField(max_length=150)
    address = models.CharField(max_length=45)
    failures = models.PositiveSmallIntegerField(default=0)
    window_ends_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(name="sign_in_once_per_name_and_address", fields=["name", "address"])]
        indexes = [
            # The hourly upkeep deletes windows that have ended.
            models.Index(name="sign_in_window", fields=["window_ends_at"]),
        ]
