"""Reads of the shared tables that pages have in common."""

from collections.abc import Iterator
from datetime import datetime

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import QuerySet
from django.urls import reverse

from config.records.models import ChangeRecord, LogEntry, LogEntryQuerySet
from config.records.services.keys import KIND
from config.records.tracing import Step


def visible_changes(person: User | AnonymousUser) -> QuerySet[ChangeRecord]:
    """Return the changes that a member of staff may see: those of keys only with the right to see keys."""
    changes = ChangeRecord.objects.all()
    return changes if person.has_perm("records.view_accesskey") else changes.exclude(kind=KIND)


def matching_log(
    *, level: str = "", text: str = "", start: datetime | None = None, end: datetime | None = None
) -> LogEntryQuerySet:
    entries = LogEntry.objects.all()
    if level:
        entries = entries.filter(level=level)
    if text:
        entries = entries.saying(text)
    if start is not None:
        entries = entries.filter(at__gte=start)
    return entries if end is None else entries.filter(at__lt=end)


def trace_changes(correlation_id: str, most: int) -> Iterator[Step]:
    return _steps(ChangeRecord.objects.exclude(kind=KIND).filter(correlation_id=correlation_id), most)


def trace_changes_of_keys(correlation_id: str, most: int) -> Iterator[Step]:
    return _steps(ChangeRecord.objects.filter(kind=KIND, correlation_id=correlation_id), most)


def trace_log(correlation_id: str, most: int) -> Iterator[Step]:
    entries = LogEntry.objects.filter(correlation_id=correlation_id)
    # Alerts are told as such.
    for entry in entries.exclude(kind=LogEntry.Kind.ALERT).order_by("pk")[:most]:
        told = {"kind": entry.kind, "subject": entry.subject, "count": entry.count, "data": entry.data}
        page = reverse("admin:records_logentry_change", args=[entry.pk])
        yield Step(entry.at, "log", entry.pk, entry.words, entry.level, told, page)


def _steps(changes: QuerySet[ChangeRecord], most: int) -> Iterator[Step]:
    for change in changes.order_by("pk")[:most]:
        told = {"actor": change.actor, "before": change.before, "after": change.after, "reverts": change.reverts_id}
        page = reverse("admin:records_changerecord_change", args=[change.pk])
        yield Step(change.at, "change", change.pk, str(change), change.action, told, page)
