"""What waits for a person: alerts that nobody has taken on, decisions, incidents, dead letters, tasks.

Each row leads to the page where it is settled. An alert about something that is here by itself is not shown twice: that
row carries it, so that it can be acknowledged in place. Whoever may not see that row sees the alert.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import IntEnum
from types import SimpleNamespace
from typing import Any, TypeVar

from django.conf import settings
from django.db.models import F, QuerySet
from django.urls import reverse
from django.utils import translation
from django.utils.formats import number_format
from django.utils.translation import gettext, ngettext

from config.common.database.row_lists import Lists, Questions, Row
from config.dashboard.live.counts import FOR_PEOPLE, MOST_COUNTED
from config.dashboard.live.processes import ProcessRow
from notifications.alert_kinds import Severity
from notifications.event_titles import row_title, title_value
from notifications.models import Alert, Incident
from notifications.services.relay import INCIDENT, follower_subject
from processes.coordination.models import AppEvent
from processes.coordination.protocol.statuses import EventStatus
from processes.coordination.subjects import subject_of as change_set_subject
from processes.coordination.writer.compensation import ALERT as COMPENSATION
from processes.exchange.models import ExchangeProcess
from processes.exchange.services.processes import FAILED, IN_DOUBT
from processes.exchange.subjects import PREFIX as PROCESS_PREFIX
from processes.workflows.element_names import name_in_words
from processes.workflows.models import WorkflowIncident, WorkItem
from processes.workflows.services.incidents import ALERT as WORKFLOW_INCIDENT
from processes.workflows.subjects import say_record
from processes.workflows.subjects import subject_of as workflow_subject

MOST_OF_A_KIND = 10
MOST_ALERTS = 20
T = TypeVar("T")


class Level(IntEnum):
    """The severity of alerts, and below it the tasks, which are nothing amiss."""

    CRITICAL = Severity.CRITICAL
    WARNING = Severity.WARNING
    NOTICE = Severity.NOTICE
    TASK = 4

    @property
    def code(self) -> str:
        return self.name.lower()


@dataclass(frozen=True)
class InboxRow:
    key: str
    kind: str
    level: Level
    titles: Mapping[str, str]
    """In each language of the product."""
    page: str
    since: datetime | None = None
    about: tuple[str, str] = ("", "")
    """Kind and subject of the alert that stands for the same."""
    alert: int | None = None
    """The alert that is acknowledged here, while it is open."""
    carried_by: str = ""
    """The part whose row stands for this alert, to those who may see that part."""

    @property
    def title(self) -> str:
        return self.titles[translation.get_language() or settings.LANGUAGE_CODE]

    @property
    def order(self) -> tuple[int, float, str]:
        """The most severe first, and of these the oldest; the script sorts in the same way."""
        return (self.level, 0.0 if self.since is None else self.since.timestamp(), self.key)


Inbox = Mapping[str, tuple[InboxRow, ...]]
"""By the part of the page whose permission it takes to see the rows."""


@dataclass(frozen=True)
class Waiting:
    rows: Inbox
    beyond: Mapping[str, int]
    """By the part: how many more there are than the rows."""


def ask_inbox() -> Questions:
    """Return the queries for what waits, of each kind a few, but for the processes, which are shown anyway.

    Of each kind the oldest: what has waited longest is not hidden by what came later.
    """
    # Of the event of an incident no more is read than its title needs.
    incidents = Incident.objects.filter(resolved_at=None).annotate(title_value=title_value("event__payload"))
    stopped = WorkflowIncident.objects.filter(status=WorkflowIncident.Status.OPEN)
    failed = AppEvent.objects.filter(app_event_status_id=EventStatus.COMPENSATION_FAILED.value)
    tasks = WorkItem.objects.filter(status=WorkItem.Status.OPEN, kind__in=FOR_PEOPLE)
    tasks = tasks.annotate(definition=F("instance__definition__name"), record=F("instance__record"))
    found = {
        "incidents": incidents.order_by("at", "pk").values("pk", "follower_id", "type", "title_value", "at"),
        "workflow_incidents": stopped.order_by("id").values(
            "pk",
            "instance_id",
            "instance__definition_id",
            "instance__revision_id",
            "instance__record",
            "element",
            "opened_at",
        ),
        "compensations": failed.order_by("id").values("pk", "date"),
        "tasks": tasks.order_by("id").values("pk", "name", "element", "definition", "record", "since"),
    }
    # The alerts that are to be settled first: the most severe, and of these the oldest.
    urgent = open_alerts().order_by("-status", "severity", "id")[:MOST_ALERTS]
    return {"urgent_alerts": urgent, **{name: rows[:MOST_OF_A_KIND] for name, rows in found.items()}}


def open_alerts() -> "QuerySet[Alert, Any]":
    """Select all columns of the alerts that nobody has taken on."""
    columns = [field.attname for field in Alert._meta.concrete_fields]
    found: QuerySet[Alert, Any] = Alert.objects.filter(status=Alert.Status.OPEN).values(*columns)
    return found


def read_inbox(processes: Iterable[ProcessRow], counts: dict[str, int], lists: Lists) -> Waiting:
    """Return what waits for a person, of each kind a few, and how many more there are."""
    alerts = [Alert(**row) for row in lists["urgent_alerts"]]
    rows = {
        "processes": _undecided([row for row in processes if row.status in _UNDECIDED]),
        "incidents": _incidents(lists["incidents"]),
        "workflows": _workflow_incidents(lists["workflow_incidents"]),
        "deliveries": [_dead_letters(counts["dead_letters"])] if counts["dead_letters"] else [],
        "sessions": [_exhausted(counts["exhausted"])] if counts["exhausted"] else [],
        "changes": _compensations(lists["compensations"]),
        "tasks": [_task(row) for row in lists["tasks"]],
    }
    shown = {(alert.kind, alert.subject): alert.pk for alert in alerts}
    carriers = {row.about: part for part, found in rows.items() for row in found}
    inbox = {part: tuple(replace(row, alert=shown.get(row.about)) for row in found) for part, found in rows.items()}
    inbox["alerts"] = tuple(_alert(alert, carriers.get((alert.kind, alert.subject), "")) for alert in alerts)
    beyond = {part: max(0, counts[name] - len(inbox[part])) for part, name in _COUNTED.items()}
    return Waiting(inbox, beyond)


_COUNTED = {
    "alerts": "alerts",
    "incidents": "incidents",
    "workflows": "workflow_incidents",
    "changes": "compensations",
    "tasks": "tasks",
}
"""By the part: the count of what it lists; those that are not here list all, or are one row."""


def visible_rows(inbox: Inbox, parts: Collection[str]) -> dict[str, list[InboxRow]]:
    """Return the rows of these parts; an alert that one of their rows carries is not shown beside it."""
    return {part: [row for row in rows if row.carried_by not in parts] for part, rows in inbox.items() if part in parts}


def sorted_rows(inbox: Inbox, parts: Collection[str]) -> list[InboxRow]:
    """Return the rows of these parts as people read them."""
    return sorted((row for rows in visible_rows(inbox, parts).values() for row in rows), key=lambda row: row.order)


def in_each_language(make: Callable[[], T]) -> dict[str, T]:
    said = {}
    for language, _ in settings.LANGUAGES:
        with translation.override(language):
            said[language] = make()
    return said


def _title_each(rows: Sequence[T], say: Callable[[T], str]) -> list[tuple[T, dict[str, str]]]:
    """Return each row with its title in each language, which is changed once for all of them."""
    said = in_each_language(lambda: [say(row) for row in rows])
    return [(row, {language: titles[place] for language, titles in said.items()}) for place, row in enumerate(rows)]


_UNDECIDED = (ExchangeProcess.Status.IN_DOUBT, ExchangeProcess.Status.FAILED)


def _alert(alert: Alert, carried_by: str) -> InboxRow:
    return InboxRow(
        f"alert-{alert.pk}",
        "alert",
        Level(alert.severity),
        in_each_language(lambda: alert.words),
        reverse("admin:notifications_alert_change", args=[alert.pk]),
        alert.first_at,
        (alert.kind, alert.subject),
        alert.pk,
        carried_by,
    )


def _undecided(rows: Sequence[ProcessRow]) -> list[InboxRow]:
    def say(row: ProcessRow) -> str:
        if row.status == ExchangeProcess.Status.IN_DOUBT:
            return gettext("ERP “%(name)s” did not confirm a process") % {"name": row.name}
        return gettext("The files of a process of ERP “%(name)s” cannot be moved") % {"name": row.name}

    return [_undecided_row(row, titles) for row, titles in _title_each(rows, say)]


def _undecided_row(row: ProcessRow, titles: Mapping[str, str]) -> InboxRow:
    is_doubt = row.status == ExchangeProcess.Status.IN_DOUBT
    page = reverse("admin:exchange_doubt") if is_doubt else reverse(_PROCESS_PAGE, args=[row.id])
    kind = "doubt" if is_doubt else "failed"
    about = (IN_DOUBT if is_doubt else FAILED, f"{PROCESS_PREFIX}{row.id}")
    return InboxRow(f"process-{row.id}", kind, Level.CRITICAL, titles, page, row.ready_at, about)


_PROCESS_PAGE = "admin:exchange_exchangeprocess_change"


def _incidents(rows: Sequence[Row]) -> list[InboxRow]:
    def say(row: Row) -> str:
        words = gettext("“%(follower)s” could not process an event: %(event)s")
        return words % {"follower": row["follower_id"], "event": row_title(SimpleNamespace(**row), "event")}

    return [
        InboxRow(
            f"incident-{row['pk']}",
            "incident",
            Level.WARNING,
            titles,
            reverse("admin:notifications_incident_change", args=[row["pk"]]),
            row["at"],
            (INCIDENT, follower_subject(row["follower_id"])),
        )
        for row, titles in _title_each(rows, say)
    ]


def _workflow_incidents(rows: Sequence[Row]) -> list[InboxRow]:
    def say(row: Row) -> str:
        name, place = name_in_words(row["instance__definition_id"], row["instance__revision_id"], row["element"])
        words = gettext("Workflow “%(name)s” of %(record)s has stopped at “%(element)s”")
        record = say_record(row["instance__record"]) or str(row["instance_id"])
        return words % {"name": name, "record": record, "element": place or "–"}

    return [
        InboxRow(
            f"workflow-incident-{row['pk']}",
            "incident",
            Level.WARNING,
            titles,
            reverse("admin:workflows_workflowinstance_change", args=[row["instance_id"]]),
            row["opened_at"],
            (WORKFLOW_INCIDENT, workflow_subject(row["instance_id"])),
        )
        for row, titles in _title_each(rows, say)
    ]


def _dead_letters(count: int) -> InboxRow:
    def say() -> str:
        words = ngettext("%(count)s message could not be delivered", "%(count)s messages could not be delivered", count)
        return words % {"count": _number(count)}

    return InboxRow("dead", "dead", Level.WARNING, in_each_language(say), reverse("admin:notifications_delivery_dead"))


def _exhausted(count: int) -> InboxRow:
    def say() -> str:
        words = ngettext(
            "%(count)s session has used up its attempts", "%(count)s sessions have used up their attempts", count
        )
        return words % {"count": _number(count)}

    page = reverse("admin:notifications_repeatsession_changelist") + "?status=exhausted"
    return InboxRow("exhausted", "session", Level.WARNING, in_each_language(say), page)


def _compensations(rows: Sequence[Row]) -> list[InboxRow]:
    return [
        InboxRow(
            f"change-set-{row['pk']}",
            "compensation",
            Level.CRITICAL,
            titles,
            reverse("admin:coordination_appevent_change", args=[row["pk"]]),
            row["date"],
            (COMPENSATION, change_set_subject(row["pk"])),
        )
        for row, titles in _title_each(
            rows, lambda row: gettext("Change set %(number)s could not be undone") % {"number": row["pk"]}
        )
    ]


def _task(row: Row) -> InboxRow:
    title = " · ".join(
        part for part in (row["name"] or row["element"], say_record(row["record"]) or row["definition"]) if part
    )
    page = reverse("admin:workflows_workitem_change", args=[row["pk"]])
    return InboxRow(f"task-{row['pk']}", "task", Level.TASK, dict.fromkeys(_LANGUAGES, title), page, row["since"])


_LANGUAGES = [language for language, _ in settings.LANGUAGES]


def _number(count: int) -> str:
    shown = number_format(count, force_grouping=True)
    return f"{shown}+" if count >= MOST_COUNTED else shown
