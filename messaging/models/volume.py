import uuid

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class MessageVolume(models.Model):
    """The one volume that message files lie on: the marker file in its root bears the same token."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    token = models.UUIDField(default=uuid.uuid4)
    adopted_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.CheckConstraint(name="message_volume_is_one", condition=Q(id=1))]
