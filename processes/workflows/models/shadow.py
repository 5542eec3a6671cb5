"""A revision on trial beside the current one: what its twins have heard, where they stand, and where they differ."""

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from processes.workflows.models.definition import WorkflowDefinition, WorkflowRevision


class WorkflowShadow(models.Model):
    """A revision that is given whatever instances of the current one are given, and whose effects are withheld.

    Promoted or discarded it is deleted, with everything below. The counts are written under the lock of this row.
    """

    definition = models.OneToOneField(
        WorkflowDefinition, verbose_name=_("definition"), on_delete=models.CASCADE, related_name="shadow"
    )
    revision = models.ForeignKey(
        WorkflowRevision, verbose_name=_("revision"), on_delete=models.CASCADE, related_name="+", db_index=False
    )
    against = models.ForeignKey(
        WorkflowRevision, verbose_name=_("current revision"), on_delete=models.CASCADE, related_name="+", db_index=False
    )
    """The revision whose instances it hears: the current one when the trial began."""
    actor = models.CharField(_("who"), max_length=160, blank=True)
    since = models.DateTimeField(_("since"), db_default=Now(), editable=False)
    hears_until = models.DateTimeField(null=True)
    """A lease that the follower prolongs: without it nothing is recorded for the shadow any more."""
    steps = models.PositiveBigIntegerField(default=0)
    """Inputs that were compared."""
    following = models.PositiveIntegerField(default=0)
    """Twins that exist now."""
    equal = models.PositiveIntegerField(default=0)
    """Instances that have ended without a difference."""
    different = models.PositiveIntegerField(default=0)
    """Instances with at least one difference."""
    incomplete = models.PositiveIntegerField(default=0)
    """Instances without a difference that could not be followed to their end."""
    left_out = models.PositiveIntegerField(default=0)
    """Instances that were not followed, as there were enough."""

    class Meta:
        db_table = "workflows_shadow"
        verbose_name = _("shadow")
        verbose_name_plural = _("shadows")
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.definition_id}: {self.revision_id}"


class ShadowInput(models.Model):
    """What an instance was given, written with the version it led to; deleted with what its twin made of it.

    The inputs of an instance are committed in the order of their ids, for each is written under the instance's lock.
    """

    shadow = models.BigIntegerField()
    """No foreign key: the end of a shadow does not wait for its inputs, which are deleted later."""
    instance = models.UUIDField()
    version = models.PositiveIntegerField()
    """The version that it led to; of a command that failed, the one it found."""
    body = models.TextField()
    """JSON text; `services/shadow/inputs.py` knows its shape."""
    recorded_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        db_table = "workflows_shadow_input"
        default_permissions = ()
        # The page asks for the oldest of a shadow, and how many there are.
        indexes = [models.Index(name="shadow_input_queue", fields=["shadow", "id"])]

    def __str__(self) -> str:
        return f"{self.instance} {self.version}"


class ShadowTwin(models.Model):
    """The state that an instance would have by the shadow's revision. No task, timer or event of it exists."""

    shadow = models.ForeignKey(WorkflowShadow, on_delete=models.CASCADE, related_name="twins", db_index=False)
    instance = models.UUIDField()
    version = models.PositiveIntegerField()
    """The version of the instance that it stands beside."""
    state = models.TextField()
    """JSON text; empty: its start has failed."""
    reported = models.JSONField(default=list)
    """Kind and place of the differences that were found: each is listed once for a twin."""
    heard_at = models.DateTimeField()

    class Meta:
        db_table = "workflows_shadow_twin"
        default_permissions = ()
        constraints = [models.UniqueConstraint(name="shadow_twin_once", fields=["shadow", "instance"])]
        # The one that has heard nothing for longest gives way to a new one.
        indexes = [models.Index(name="shadow_twin_idle", fields=["shadow", "heard_at"])]

    def __str__(self) -> str:
        return str(self.instance)


class ShadowDifference(models.Model):
    """A kind of difference at one place, with how many instances have it."""

    class Kind(models.TextChoices):
        PATH = "path", pgettext_lazy("shadow", "other path")
        VARIABLES = "variables", pgettext_lazy("shadow", "other variables")
        EFFECTS = "effects", pgettext_lazy("shadow", "other effects")
        WORK = "work", pgettext_lazy("shadow", "other work")
        WAITS = "waits", pgettext_lazy("shadow", "waits for something else")
        STATUS = "status", pgettext_lazy("shadow", "other status")
        INCIDENT = "incident", pgettext_lazy("shadow", "incident")
        COUNTERPART = "counterpart", pgettext_lazy("shadow", "no counterpart")
        ERROR = "error", pgettext_lazy("shadow", "error")

    shadow = models.ForeignKey(WorkflowShadow, on_delete=models.CASCADE, related_name="differences", db_index=False)
    kind = models.CharField(_("kind"), max_length=11, choices=Kind.choices)
    place = models.CharField(_("where"), max_length=200, blank=True)
    """An element, or the name of a variable; empty: the whole instance, or one of many other places."""
    count = models.PositiveIntegerField(_("instances"), default=0)
    first_at = models.DateTimeField(_("first"))
    last_at = models.DateTimeField(_("last"))

    class Meta:
        db_table = "workflows_shadow_difference"
        default_permissions = ()
        constraints = [models.UniqueConstraint(name="shadow_difference_once", fields=["shadow", "kind", "place"])]

    def __str__(self) -> str:
        return f"{self.kind} {self.place}"


class ShadowExample(models.Model):
    """One instance that has a difference: what it did, and what the shadow would have done."""

    difference = models.ForeignKey(ShadowDifference, on_delete=models.CASCADE, related_name="examples")
    instance = models.UUIDField(_("instance"))
    version = models.PositiveIntegerField(_("version"))
    at = models.DateTimeField(_("time"))
    is_first = models.BooleanField(default=False)
    """Where the twin parted from its instance."""
    live = models.TextField()
    withheld = models.TextField()
    """Both JSON texts; what would be too long is cut, and no JSON any more."""

    class Meta:
        db_table = "workflows_shadow_example"
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.instance} {self.version}"
