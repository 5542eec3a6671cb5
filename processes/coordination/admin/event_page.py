"""The page of a change set: its progress, readers, steps and payloads, and the obstacles of its compensation."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from django.http import HttpRequest
from django.utils.safestring import SafeString

from config.admin_base.pages import trace_link
from config.common.times import parse_time
from notifications.models import Alert
from processes.coordination.admin.obstacles import Obstacles, find_obstacles
from processes.coordination.admin.presentation import (
    OPERATIONS,
    ROLES,
    format_entity,
    format_payloads,
    format_seconds,
    format_type,
    status_badge,
    verdict_badge,
)
from processes.coordination.admin.progress import Stop, progress_stops
from processes.coordination.admin.step_labels import STEPS, WAITS
from processes.coordination.models import AppEvent, AppEventPayload
from processes.coordination.protocol.reasons import format_reason
from processes.coordination.protocol.row_changes import RowChange, decode_readable_changes
from processes.coordination.protocol.statuses import EventStatus
from processes.coordination.protocol.transitions import BY_NUMBER, RoleKind
from processes.coordination.selectors import EventOverview, ReaderOverview, view_events
from processes.coordination.subjects import subject_of

PAYLOADS = 100
ALERTS = 50
T = TypeVar("T")


@dataclass(frozen=True)
class StepRow:
    number: str
    role: str
    words: str
    at: datetime


@dataclass(frozen=True)
class Cell:
    """One value of a row; None: the row was not there, or is gone."""

    name: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class PayloadRow:
    entity: str
    operation: str
    id: Any
    cells: list[Cell]


@dataclass(frozen=True)
class ReaderRow:
    reader: ReaderOverview
    badge: SafeString
    reason: str
    lag: str


@dataclass(frozen=True)
class EventPage:
    """Parts that the person may not see are None."""

    view: EventOverview
    badge: SafeString
    type: str
    payload_words: str
    chain: SafeString | str
    line: list[Stop]
    readers: list[ReaderRow]
    steps: list[StepRow]
    payloads: list[PayloadRow]
    more_payloads: int
    alerts: list[Alert] | None
    obstacles: Obstacles | None
    """Set if the compensation has failed."""
    may_resolve: bool

    @property
    def is_waiting(self) -> bool:
        return self.view.coordinated is not None and self.view.coordinated.is_waiting

    @property
    def is_committing(self) -> bool:
        return self.view.status == EventStatus.COMMITTING

    @property
    def why_cancelled(self) -> str:
        """The Coordinator's reason; the Writer's own may by now be the obstacle of the compensation."""
        if self.view.coordinated is not None and self.view.coordinated.reason:
            return format_reason(self.view.coordinated.reason)
        return format_reason(self.view.event.reason) if self.view.status == EventStatus.CANCELED else ""


def build_event_page(request: HttpRequest, event: AppEvent, *, may_resolve: bool, now: datetime) -> EventPage:
    def seen(permission: str, read: Callable[[], T]) -> T | None:
        return read() if request.user.has_perm(permission) else None

    (view,) = view_events([event], with_readers_steps=True)
    is_failed = view.status == EventStatus.COMPENSATION_FAILED
    payloads = AppEventPayload.objects.filter(app_event=event).order_by("pk")
    contents = payloads.values_list("content", flat=True)[:PAYLOADS]
    shown = [_payload(change) for change in decode_readable_changes(contents)]
    raised = Alert.objects.filter(subject=subject_of(event.pk)).order_by("-id")
    return EventPage(
        view=view,
        badge=status_badge(view),
        type=format_type(event.app_event_type_id),
        payload_words=format_payloads(view),
        chain=trace_link(event.correlation_id),
        line=progress_stops(view),
        readers=[
            ReaderRow(
                reader,
                verdict_badge(reader),
                format_reason(reader.reason),
                format_seconds(reader.lag(event.date, now)),
            )
            for reader in view.readers
        ],
        steps=list(_steps(view.steps)),
        payloads=shown,
        more_payloads=max(0, event.payload_count - len(shown)),
        alerts=seen("notifications.view_alert", lambda: list(raised[:ALERTS])),
        obstacles=find_obstacles(event) if is_failed else None,
        may_resolve=may_resolve and is_failed,
    )


def _payload(change: RowChange) -> PayloadRow:
    """Return the values that differ before and after a change."""
    cells = []
    for column in change.entity.columns:
        before, after = ((side or {}).get(column.name) for side in (change.before, change.after))
        if before != after:
            cells.append(Cell(column.name, _text(before, change.before), _text(after, change.after)))
    return PayloadRow(format_entity(change.entity.name), str(OPERATIONS[change.op]), change.id, cells)


def _text(value: Any, side: Any) -> str | None:
    if side is None:
        return None
    return "–" if value is None or value == "" else str(value)


def _steps(steps: list[tuple[str, str]]) -> Iterator[StepRow]:
    for number, at in steps:
        if number == WAITS:
            yield StepRow("", str(ROLES[RoleKind.COORDINATOR]), str(STEPS[WAITS]), parse_time(at))
        elif number in BY_NUMBER:
            yield StepRow(number, str(ROLES[BY_NUMBER[number].role]), str(STEPS[number]), parse_time(at))
