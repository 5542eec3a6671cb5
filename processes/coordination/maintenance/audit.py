"""The audit of coordination: events without rows, rows without events, gaps, readers that differ.

Its findings are an alert that names the first few; nothing is repaired. It compares the events of the last days, and
the rows of all readers except those that change sets under way touch, or have touched meanwhile: these may differ
rightly. The alert says how many those are, and stays open while a row that it names is one of them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.db import DatabaseError, transaction
from django.db.models import Count, Exists, F, Max, Min, OuterRef, Q
from django.utils import timezone
from django.utils.translation import gettext_noop

from config.records.models import ChangeRecord
from notifications.models import Alert
from notifications.services.alerts import close_alert, raise_alert
from processes.coordination.maintenance.retention import slimmed_filter
from processes.coordination.maintenance.snapshot import Snapshot, changed_rows, consistent_read, split_chunks
from processes.coordination.models import AppEvent, AppEventPayload, WriterEvent, WriterEventPayload
from processes.coordination.models.writer import COMMITS, ROLLBACKS, TABLES
from processes.coordination.protocol.database_errors import describe_error
from processes.coordination.protocol.statuses import EventStatus
from processes.coordination.reader import models as reader
from processes.coordination.schema.entities import ENTITIES, Entity, Key
from processes.coordination.schema.routing import reader_alias, reader_names
from processes.coordination.schema.tables import read_values
from processes.coordination.writer.registry import KINDS

ALERT = "coordination.audit"
SUBJECT = "coordination"
SINCE = timedelta(days=2)
GRACE = timedelta(minutes=1)
"""Younger events may still be on their way."""
NAMED = 5
REMEMBERED = 200
"""Differing rows that the alert names in its detail."""
TITLE = gettext_noop("Differences found by the coordination audit: %(count)s; the first: %(first)s")
TITLE_OF_PART = gettext_noop(
    "Differences found by the coordination audit: %(count)s; the first: %(first)s. Rows touched by unfinished change "
    "sets were not compared: %(left_out)s"
)

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Finding:
    kind: str
    subject: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.subject}"


@dataclass(frozen=True)
class Audit:
    findings: list[Finding]
    rows: list[Key]
    """The rows that some of the findings are about."""
    left_out: set[Key]
    """Rows that were not compared, because change sets that touch them are under way or wait."""


def audit() -> list[Finding]:
    """Compare all sides and return the findings; raise an alert about them, or close it."""
    found = compare_all(at=timezone.now())
    with transaction.atomic():
        if found.findings:
            first = "; ".join(str(each) for each in found.findings[:NAMED])
            detail = {"count": len(found.findings), "first": first, "left_out": len(found.left_out)}
            detail |= {"rows": [list(key) for key in found.rows[:REMEMBERED]]}
            raise_alert(ALERT, SUBJECT, TITLE_OF_PART if found.left_out else TITLE, detail)
        elif not _may_be_left_out(found.left_out):
            close_alert(ALERT, SUBJECT)
    log.info("coordination.audited", findings=len(found.findings), left_out=len(found.left_out))
    return found.findings


def _may_be_left_out(left_out: set[Key]) -> bool:
    """Return whether a row that the open alert is about may be one that was not compared now."""
    open_ones = Alert.objects.filter(kind=ALERT, subject=SUBJECT).exclude(status=Alert.Status.RESOLVED)
    for detail in open_ones.values_list("detail", flat=True):
        rows = {(entity, id) for entity, id in detail.get("rows", ())}
        if not left_out.isdisjoint(rows) or (left_out and len(rows) >= REMEMBERED):
            return True
    return False


def find_faults(*, at: datetime) -> list[Finding]:
    return compare_all(at=at).findings


def compare_all(*, at: datetime) -> Audit:
    checks: tuple[Callable[[datetime], Iterator[Finding]], ...] = (
        _events_without_payloads,
        _events_without_rows,
        _rows_without_events,
        _changes_without_events,
        _gaps_of_the_writer,
        _gaps_of_the_coordinator,
        _payloads_of_the_coordinator,
        _events_of_readers,
    )
    findings = [finding for check in checks for finding in check(at)]
    differing, left_out, unread = _rows_of_readers()
    of_rows = [finding for of_row in differing.values() for finding in of_row]
    # A reader that is away is asked by two checks, and named once.
    return Audit([*dict.fromkeys(findings + unread), *of_rows], list(differing), left_out)


def _recent(at: datetime) -> Any:
    """Return the events of the last days that must be whole by now."""
    return AppEvent.objects.filter(date__gt=at - SINCE, date__lt=at - GRACE)


def _events_without_payloads(at: datetime) -> Iterator[Finding]:
    counted = _recent(at).annotate(kept=Count("payloads")).exclude(kept=F("payload_count"))
    for event in counted.order_by("pk"):
        yield Finding("event without its payloads", f"{event.pk}: {event.kept} of {event.payload_count}")
    for pk in _recent(at).filter(changes__isnull=False).values_list("pk", flat=True):
        yield Finding("change log not made into payloads", str(pk))


def _events_without_rows(at: datetime) -> Iterator[Finding]:
    for verb, tables in (("commit", COMMITS), ("rollback", ROLLBACKS)):
        rows = _recent(at).filter(payload_count__gt=0, changes__isnull=True).exclude(**slimmed_filter(at))
        for table in tables.values():
            rows = rows.filter(~Exists(table.objects.filter(app_event_id=OuterRef("pk"))))
        for pk in rows.order_by("pk").values_list("pk", flat=True):
            yield Finding(f"event without {verb} rows", str(pk))


def _rows_without_events(at: datetime) -> Iterator[Finding]:
    """Find rows that name an event which is not there, unless it is so old that it has expired."""
    oldest = AppEvent.objects.aggregate(oldest=Min("pk"))["oldest"] or 0
    for name, table in TABLES.items():
        known = AppEvent.objects.filter(pk=OuterRef("last_event_id"))
        rows = table.objects.filter(~Exists(known), last_event_id__gte=oldest)
        for pk, event in rows.order_by("pk").values_list("pk", "last_event_id")[:1000]:
            yield Finding("row without its event", f"{name} {pk}, event {event}")


def _changes_without_events(at: datetime) -> Iterator[Finding]:
    """Find lines of the registry's change log without an event, behind the first line that has one."""
    made = AppEventPayload.objects.filter(app_event__in=_recent(at))
    first = made.aggregate(first=Min("change_id"))["first"]
    if first is None:
        return
    unfilled = AppEvent.objects.filter(changes__isnull=False).values_list("changes", flat=True)
    waiting = {pk for ids in unfilled for pk in ids or ()}
    lines = ChangeRecord.objects.filter(pk__gte=first, kind__in=KINDS, at__lt=at - GRACE)
    lines = lines.filter(~Exists(AppEventPayload.objects.filter(change_id=OuterRef("pk"))))
    for pk in lines.exclude(pk__in=waiting).order_by("pk").values_list("pk", flat=True):
        yield Finding("change of the registry without an event", str(pk))


def _gaps_of_the_writer(at: datetime) -> Iterator[Finding]:
    first = AppEvent.objects.filter(date__gt=at - SINCE).aggregate(first=Min("position"))["first"]
    if first is None:
        return
    numbered = AppEvent.objects.filter(position__gte=first).aggregate(last=Max("position"), count=Count("pk"))
    if numbered["last"] - first + 1 != numbered["count"]:
        yield Finding("gap in the positions", f"{first} to {numbered['last']}: {numbered['count']} events")


def _gaps_of_the_coordinator(at: datetime) -> Iterator[Finding]:
    known = WriterEvent.objects.filter(pk=OuterRef("pk"))
    ended = [EventStatus.COMMITTED.value, EventStatus.CANCELED.value]
    announced = _recent(at).exclude(app_event_status_id__in=[EventStatus.CREATED.value, EventStatus.SAVING.value])
    for pk in announced.filter(~Exists(known)).order_by("pk").values_list("pk", flat=True):
        yield Finding("event that the Coordinator has lost", str(pk))
    for pk in (
        WriterEvent.objects.filter(date__gt=at - SINCE)
        .filter(~Exists(AppEvent.objects.filter(pk=OuterRef("pk"))))
        .values_list("pk", flat=True)
    ):
        yield Finding("event of the Coordinator that the Writer does not have", str(pk))
    behind = AppEvent.objects.filter(pk=OuterRef("pk"), app_event_status_id__in=ended)
    unended = WriterEvent.objects.exclude(app_event_status_id__in=ended).filter(Exists(behind))
    for pk in unended.values_list("pk", flat=True):
        yield Finding("event that has ended on the Writer alone", str(pk))


def _payloads_of_the_coordinator(at: datetime) -> Iterator[Finding]:
    saved = WriterEvent.objects.filter(date__gt=at - SINCE).exclude(app_event_status_id=EventStatus.CREATED.value)
    saved = saved.exclude(**slimmed_filter(at))
    kept = WriterEventPayload.objects.filter(writer_event=OuterRef("pk")).order_by().values("writer_event")
    for event in saved.annotate(kept=kept.annotate(count=Count("pk")).values("count")).exclude(payload_count=0):
        if event.kept != event.payload_count:
            yield Finding("payloads that the Coordinator lacks", f"{event.pk}: {event.kept} of {event.payload_count}")


def _events_of_readers(at: datetime) -> Iterator[Finding]:
    """Find events that were committed since a reader was built, and that it does not have as committed."""
    committed = set(
        AppEvent.objects.filter(
            app_event_status_id=EventStatus.COMMITTED.value, ended_at__gt=at - SINCE, ended_at__lt=at - GRACE
        ).values_list("pk", "date")
    )
    for name in reader_names():
        rows = reader.AppEvent.objects.using(reader_alias(name))
        try:
            built_at = reader.ReaderState.objects.using(reader_alias(name)).values_list("built_at", flat=True).get(pk=1)
            there = set(
                rows.filter(app_event_status_id=EventStatus.COMMITTED.value, date__gt=at - 2 * SINCE).values_list(
                    "pk", flat=True
                )
            )
        except DatabaseError as error:
            yield _unasked(name, error)
            continue
        for pk, date in sorted(committed):
            if pk not in there and (built_at is None or date > built_at):
                yield Finding("event that a reader lacks", f"{name}: {pk}")


def _unasked(name: str, error: DatabaseError) -> Finding:
    return Finding("reader that cannot be asked", f"{name}: {describe_error(error)}")


def _rows_of_readers() -> tuple[dict[Key, list[Finding]], set[Key], list[Finding]]:
    """Return the findings about rows that differ from the Writer's committed ones, the rows that were left out, and
    the findings about readers whose rows could not be read: of those nothing is known.
    """
    began_at = timezone.now()
    newest = AppEvent.objects.aggregate(newest=Max("pk"))["newest"] or 0
    left_out = _touched(_under_way())
    found: dict[Key, list[Finding]] = {}
    unread: list[Finding] = []
    for name in reader_names():
        try:
            for key, finding in _differing_rows(name, left_out):
                found.setdefault(key, []).append(finding)
        except DatabaseError as error:
            log.warning("coordination.reader_away", reader=name, error=str(error))
            unread.append(_unasked(name, error))
    if found:  # what has moved while it was read may differ rightly
        left_out |= _touched(_under_way() | Q(pk__gt=newest) | Q(ended_at__gte=began_at))
    return {key: of_row for key, of_row in found.items() if key not in left_out}, left_out, unread


def _under_way() -> Q:
    """Return the condition for events that have not ended; a failed compensation does not move."""
    return Q(ended_at__isnull=True) & ~Q(app_event_status_id=EventStatus.COMPENSATION_FAILED.value)


def _touched(events: Q) -> set[Key]:
    found = AppEvent.objects.filter(events).order_by("pk")
    return {row for event in found.iterator(1000) for row in changed_rows(event)}


def _differing_rows(name: str, left_out: set[Key]) -> Iterator[tuple[Key, Finding]]:
    with consistent_read():
        snapshot = Snapshot()
        for entity in ENTITIES:
            yield from _compare(entity, snapshot, name, left_out)


def _compare(entity: Entity, snapshot: Snapshot, name: str, left_out: set[Key]) -> Iterator[tuple[Key, Finding]]:
    """Yield what differs, chunk by chunk, for a registry may be large."""
    rows = reader.TABLES[entity.name].objects.using(reader_alias(name))
    count = 0
    for chunk in split_chunks(snapshot.rows(entity)):
        theirs = {row.pk: read_values(entity, row) for row in rows.filter(pk__in=[pk for pk, _ in chunk])}
        count += len(theirs)
        for pk, values in chunk:
            key = entity.name, str(pk)
            if key in left_out:
                continue
            if pk not in theirs:
                yield key, Finding("row that a reader lacks", f"{name}: {entity.name} {pk}")
            elif theirs[pk] != values:
                yield key, Finding("row that differs", f"{name}: {entity.name} {pk}")
    if count < rows.count():  # only then are all ids collected
        ours = {pk for pk, _ in snapshot.rows(entity)}
        for pk in sorted(set(rows.values_list("pk", flat=True)) - ours):
            if (entity.name, str(pk)) not in left_out:
                key = entity.name, str(pk)
                yield key, Finding("row that only a reader has", f"{name}: {entity.name} {pk}")
