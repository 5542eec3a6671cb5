"""Reads of the shared tables that pages have in common."""

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import QuerySet

from config.records.models import ChangeRecord
from config.records.services.keys import KIND


def visible_changes(person: User | AnonymousUser) -> QuerySet[ChangeRecord]:
    """Return the changes that a member of staff may see: those of keys only with the right to see keys."""
    changes = ChangeRecord.objects.all()
    return changes if person.has_perm("records.view_accesskey") else changes.exclude(kind=KIND)
