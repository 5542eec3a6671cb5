"""Reads of the shared tables that pages have in common."""

from collections.abc import Iterator
from datetime import datetime

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import QuerySet
from django.urls import reverse

from config.access.accounts import ACCOUNT, GROUP
from config.access.keys import KIND as KEY
from config.audit.trace import TraceStep
from config.records.models import ChangeRecord, LogEntry, LogEntryQuerySet

# Changes that only those see who may see what has changed.
PRIVATE_KINDS = {KEY: "records.view_accesskey", ACCOUNT: "auth.view_user", GROUP: "auth.view_user"}


def visible_changes(person: User | AnonymousUser) -> QuerySet[ChangeRecord]:
    """Return the changes that a member of staff may see: those of keys only with the right to see keys, and so on."""
    return ChangeRecord.objects.exclude(kind__in=hidden_kinds(person))


def hidden_kinds(person: User | AnonymousUser) -> list[str]:
    return [kind for kind, right in PRIVATE_KINDS.items() if not person.has_perm(right)]


def visible_log(person: User | AnonymousUser) -> LogEntryQuerySet:
    """Return the entries that a member of staff may see: those of accounts only with the right to see accounts."""
    entries = LogEntry.objects.all()
    return entries if person.has_perm("auth.view_user") else entries.exclude(kind=LogEntry.Kind.ACCOUNT)


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


def trace_changes(correlation_id: str, most: int) -> Iterator[TraceStep]:
    return _steps(ChangeRecord.objects.exclude(kind__in=PRIVATE_KINDS).filter(correlation_id=correlation_id), most)


def trace_changes_of_keys(correlation_id: str, most: int) -> Iterator[TraceStep]:
    return _steps(ChangeRecord.objects.filter(kind=KEY, correlation_id=correlation_id), most)


def trace_log(correlation_id: str, most: int) -> Iterator[TraceStep]:
    # Alerts are traced as such, and what accounts do is for those who may see accounts.
    kinds = [LogEntry.Kind.ALERT, LogEntry.Kind.ACCOUNT]
    return _log_steps(LogEntry.objects.exclude(kind__in=kinds).filter(correlation_id=correlation_id), most)


def trace_accounts(correlation_id: str, most: int) -> Iterator[TraceStep]:
    """Trace sign-ins and passwords of the log, and changes of accounts and groups."""
    kind = LogEntry.Kind.ACCOUNT
    yield from _log_steps(LogEntry.objects.filter(kind=kind, correlation_id=correlation_id), most)
    yield from _steps(ChangeRecord.objects.filter(kind__in=(ACCOUNT, GROUP), correlation_id=correlation_id), most)


def _log_steps(entries: LogEntryQuerySet, most: int) -> Iterator[TraceStep]:
    for entry in entries.order_by("pk")[:most]:
        data = {"kind": entry.kind, "subject": entry.subject, "count": entry.count, "data": entry.data}
        page = reverse("admin:records_logentry_change", args=[entry.pk])
        yield TraceStep(entry.at, "log", entry.pk, entry.words, entry.level, data, page)


def _steps(changes: QuerySet[ChangeRecord], most: int) -> Iterator[TraceStep]:
    for change in changes.order_by("pk")[:most]:
        data = {"actor": change.actor, "before": change.before, "after": change.after, "reverts": change.reverts_id}
        page = reverse("admin:records_changerecord_change", args=[change.pk])
        yield TraceStep(change.at, "change", change.pk, str(change), change.action, data, page)
