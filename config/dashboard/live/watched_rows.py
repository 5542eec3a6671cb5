"""The rows that a list or a page shows: a socket names them, and is told when one of them has changed.

What a row looks like is not sent: the page fetches its own content anew. A row is compared by a few of its columns,
read by primary key, for all sockets together.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs
from uuid import UUID

from django.apps import apps
from django.db.models import Count, Q

from messaging.models import Message
from notifications.models import Delivery
from processes.coordination.models import WriterEvent, WriterEventReader
from sensors.subjects import subject_of

MOST_ROWS = 100
LONGEST_QUERY = 8_000
MOST_DELIVERIES = 10
NEWEST = ""
"""Stands for the newest row of the table, so that a list is told of one that is not on it yet."""

Marks = dict[str, Any]
"""By the id of the row: what tells whether it has changed."""


@dataclass(frozen=True)
class Watch:
    kind: str
    rows: tuple[str, ...]
    """Their ids, as the addresses of their pages have them; `NEWEST` among them in a list."""


class UnknownWatch(Exception):
    """What a page asked to watch is not there, or is too much."""


@dataclass(frozen=True)
class Watched:
    """How the rows of one table are watched."""

    part: str
    """Whose permission it takes."""
    model: str
    parse: Callable[[str], Any]
    columns: tuple[str, ...]
    more: Callable[[Collection[Any]], Mapping[Any, Any]] | None = None
    """Read what of other tables belongs to these rows."""
    more_of_page: Callable[[Any], Any] | None = None
    """Read what else the page of a row shows, and no list does."""
    order: str = "-pk"
    """By which the newest row comes first; empty where there is no index to ask."""


def parse_watch(query: bytes) -> Watch | None:
    """Return what a socket wants to watch, by its address; None where that is the start page."""
    if len(query) > LONGEST_QUERY:
        raise UnknownWatch
    asked = parse_qs(query.decode("ascii", errors="replace"), max_num_fields=5)
    kind = asked.get("watch", [""])[0]
    if not kind:
        return None
    rows = tuple(dict.fromkeys(asked.get("rows", [""])[0].split(",")))
    if kind not in KINDS or len(rows) > MOST_ROWS + 1:
        raise UnknownWatch
    return Watch(kind, rows)


def read_marks(watches: Collection[Watch]) -> dict[Watch, Marks]:
    """Return the marks of the rows of each watch; what is no id, or not there, has none."""
    rows: dict[str, set[str]] = {}
    for watch in watches:
        rows.setdefault(watch.kind, set()).update(watch.rows)
    found = {kind: _read(KINDS[kind], wanted) for kind, wanted in rows.items()}
    marks = {}
    for watch in set(watches):
        watched, (first, *others) = KINDS[watch.kind], watch.rows
        mine = {row: found[watch.kind].get(row) for row in watch.rows}
        if watched.more_of_page is not None and not others and (pk := _parse(watched, first)) is not None:
            mine[first] = (mine[first], watched.more_of_page(pk))
        marks[watch] = mine
    return marks


def _read(watched: Watched, rows: set[str]) -> Marks:
    model = apps.get_model(watched.model)
    ids = {parsed for row in rows if row and (parsed := _parse(watched, row)) is not None}
    marks: Marks = {}
    if ids:
        found = model._default_manager.filter(pk__in=ids).order_by().values_list("pk", *watched.columns)
        beside = watched.more(ids) if watched.more else {}
        marks = {str(pk): (values, beside.get(pk)) for pk, *values in found}
    if NEWEST in rows and watched.order:
        marks[NEWEST] = model._default_manager.order_by(watched.order).values_list("pk", flat=True).first()
    return marks


def _parse(watched: Watched, row: str) -> Any:
    try:
        return watched.parse(row)
    except ValueError:
        return None


def _number(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0
    if not number:
        raise ValueError(text)
    return number


def _sensor(text: str) -> str:
    if not (text.isascii() and text.isalnum() and len(text) <= 16):
        raise ValueError(text)
    return text


def _files_of(processes: Collection[Any]) -> dict[Any, Any]:
    held = Message.objects.filter(process__in=processes).order_by().values_list("process")
    return {process: moved for process, moved in held.annotate(moved=Count("pk", filter=Q(moving_from="")))}


def _deliveries_of(sensor: str) -> Any:
    """Return the newest deliveries about a sensor."""
    newest = Delivery.objects.filter(subject=subject_of(sensor)).order_by("-id")
    return list(newest.values_list("pk", "status", "attempts_made")[:MOST_DELIVERIES])


def _roles_of(change_sets: Collection[Any]) -> dict[Any, Any]:
    """Return what the Coordinator and the readers know of change sets."""
    events = WriterEvent.objects.filter(pk__in=change_sets).values_list("pk", "app_event_status_id", "is_waiting")
    readers = WriterEventReader.objects.filter(writer_event__in=change_sets).order_by("pk")
    found: dict[Any, Any] = {pk: [values] for pk, *values in events}
    for pk, *values in readers.values_list("writer_event_id", "progress", "verdict", "reason", "ended_at"):
        found.setdefault(pk, []).append(values)
    return found


KINDS = {
    "sensors.sensor": Watched(
        "sensors",
        "sensors.SensorState",
        _sensor,
        ("value", "changed_at", "seen_at", "lost_at"),
        more_of_page=_deliveries_of,
        order="",
    ),
    "sensors.client": Watched(
        "clients",
        "sensors.Client",
        _number,
        ("muted_until", "endpoint__failures", "endpoint__opened_at", "endpoint__paused", "endpoint__active"),
    ),
    "notifications.alert": Watched(
        "alerts", "notifications.Alert", _number, ("status", "count", "last_at", "muted_until", "told_after")
    ),
    "notifications.delivery": Watched(
        "deliveries",
        "notifications.Delivery",
        _number,
        ("status", "attempts_made", "due_at", "under_way_until", "superseded_by_id"),
    ),
    "notifications.incident": Watched("incidents", "notifications.Incident", _number, ("resolved_at",)),
    "notifications.parkedmessage": Watched("parked", "notifications.ParkedMessage", _number, ("status",)),
    "notifications.repeatsession": Watched(
        "sessions", "notifications.RepeatSession", _number, ("change", "status", "repeats", "due_at", "is_repeating")
    ),
    "messaging.message": Watched(
        "messages",
        "messaging.Message",
        _number,
        ("status", "folder", "moving_from", "setbacks", "set_aside_at", "file_missing_at", "file_gone_at"),
    ),
    "exchange.exchangeprocess": Watched(
        "processes",
        "exchange.ExchangeProcess",
        UUID,
        ("status", "ready_at", "ended_at", "decision"),
        more=_files_of,
        order="-started_at",
    ),
    "workflows.workflowinstance": Watched(
        "workflows", "workflows.WorkflowInstance", UUID, ("status", "head", "open_incidents", "epoch")
    ),
    "workflows.workitem": Watched(
        "workflows",
        "workflows.WorkItem",
        _number,
        ("status", "worker", "retries", "assignee", "owner", "deadline_at", "follow_up_at", "priority"),
    ),
    "workflows.workflowbatch": Watched(
        "workflows", "workflows.WorkflowBatch", UUID, ("status", "changed", "refused", "undone", "kept")
    ),
    "coordination.appevent": Watched(
        "changes",
        "coordination.AppEvent",
        _number,
        ("app_event_status_id", "position", "payload_count", "ended_at", "resolved_by"),
        more=_roles_of,
    ),
}
"""By the model whose pages these are."""
