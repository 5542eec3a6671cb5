"""Reads of the shared tables that pages have in common."""

from collections.abc import Iterator
from datetime import datetime

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import QuerySet
from django.urls import reverse
from django.utils.translation import gettext

from config.access.accounts import ACCOUNT, GROUP
from config.access.keys import KIND as KEY
from config.audit.trace import Related, TraceStep
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


def public_changes() -> QuerySet[ChangeRecord]:
    """Return the changes that everybody sees who sees changes."""
    return ChangeRecord.objects.exclude(kind__in=PRIVATE_KINDS)


def changes_of_keys() -> QuerySet[ChangeRecord]:
    return ChangeRecord.objects.filter(kind=KEY)


def changes_of_accounts() -> QuerySet[ChangeRecord]:
    return ChangeRecord.objects.filter(kind__in=(ACCOUNT, GROUP))


def public_log() -> LogEntryQuerySet:
    """Return the entries that everybody sees who sees the log; alerts are traced as such."""
    return LogEntry.objects.exclude(kind__in=[LogEntry.Kind.ALERT, LogEntry.Kind.ACCOUNT])


def log_of_accounts() -> LogEntryQuerySet:
    return LogEntry.objects.filter(kind=LogEntry.Kind.ACCOUNT)


def trace_changes(correlation_id: str, most: int) -> Iterator[TraceStep]:
    """Trace changes of all kinds, those of keys and accounts for those who may see them."""
    return _steps(ChangeRecord.objects.filter(correlation_id=correlation_id), most)


def trace_log(correlation_id: str, most: int) -> Iterator[TraceStep]:
    """Trace what the log says of a call; alerts are traced as such."""
    entries = LogEntry.objects.exclude(kind=LogEntry.Kind.ALERT).filter(correlation_id=correlation_id)
    return trace_log_entries(entries, most)


def trace_log_entries(entries: LogEntryQuerySet, most: int) -> Iterator[TraceStep]:
    for entry in entries.order_by("pk")[:most]:
        data = {"kind": entry.kind, "subject": entry.subject, "count": entry.count, "data": entry.data}
        page = reverse("admin:records_logentry_change", args=[entry.pk])
        yield TraceStep(
            entry.at,
            "log",
            entry.pk,
            entry.words,
            entry.level,
            data,
            page,
            actor=str(entry.data.get("actor", "")),
            permission="auth.view_user" if entry.kind == LogEntry.Kind.ACCOUNT else "records.view_logentry",
        )


def _steps(changes: QuerySet[ChangeRecord], most: int) -> Iterator[TraceStep]:
    for change in changes.select_related("reverts").order_by("pk")[:most]:
        data = {"actor": change.actor, "before": change.before, "after": change.after, "reverts": change.reverts_id}
        page = reverse("admin:records_changerecord_change", args=[change.pk])
        related: tuple[Related, ...] = ()
        if change.reverts is not None:
            words = gettext("the change reverted by change %(number)s") % {"number": change.pk}
            related = (Related(words, change.reverts.correlation_id),)
        yield TraceStep(
            change.at,
            "change",
            change.pk,
            str(change),
            change.action,
            data,
            page,
            actor=change.actor,
            permission=PRIVATE_KINDS.get(change.kind, "records.view_changerecord"),
            related=related,
        )
