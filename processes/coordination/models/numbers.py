"""Tables of numbered types and statuses, on both sides; every `migrate` brings them in line."""

from django.db import models


class EventType(models.Model):
    id = models.IntegerField(primary_key=True)
    name = models.CharField(max_length=400, unique=True)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.name


class Status(models.Model):
    id = models.IntegerField(primary_key=True)
    name = models.CharField(max_length=50, unique=True)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.name


class AppEventType(EventType):
    pass


class AppEventStatus(Status):
    pass


class AppEventPayloadStatus(Status):
    pass
