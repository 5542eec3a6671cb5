"""The document's tables of numbers and names, filled by the migration."""

from django.db import models


class AppEventType(models.Model):
    id = models.IntegerField(primary_key=True)
    name = models.CharField(max_length=400, unique=True)

    def __str__(self) -> str:
        return self.name


class AppEventStatus(models.Model):
    id = models.IntegerField(primary_key=True)
    name = models.CharField(max_length=50, unique=True)

    def __str__(self) -> str:
        return self.name


class AppEventPayloadStatus(models.Model):
    id = models.IntegerField(primary_key=True)
    name = models.CharField(max_length=50, unique=True)

    def __str__(self) -> str:
        return self.name
