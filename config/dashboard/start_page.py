"""The start page: what runs, what happened in the last day, what waits for a person. Every read is bounded."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from django.http import HttpRequest
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext

from config.access.scopes import Scope, permission
from config.audit.selectors import visible_changes
from config.dashboard.engines import EngineTile, engine_tiles, profile
from config.dashboard.exchange_panel import ExchangePanel, build_panel
from config.records.models import AccessKey, ChangeRecord
from notifications.models import Alert, Incident
from notifications.selectors import FollowerLag, Unreachable, events_per_hour, find_unreachable, follower_lags
from processes.workflows.models import WorkflowIncident

ROWS = 5
_TICKS = {"color": "#8b93a1", "maxRotation": 0, "autoSkipPadding": 14, "precision": 0}
CHART_OPTIONS = {
    "animation": False,
    "maintainAspectRatio": False,
    "plugins": {"legend": {"display": False}},
    "scales": {
        "x": {"grid": {"display": False}, "ticks": _TICKS},
        "y": {"beginAtZero": True, "border": {"display": False}, "grid": {}, "ticks": _TICKS},
    },
}
T = TypeVar("T")


@dataclass(frozen=True)
class EventChart:
    total: int
    data: str
    """The bars as the theme's chart takes them: JSON."""
    options: str


@dataclass(frozen=True)
class StartPage:
    """What the page shows; a part that the person may not see is None."""

    at: datetime
    profile: str
    engines: list[EngineTile]
    is_new: bool
    chart: EventChart | None
    alerts: list[Alert] | None
    unreachable: list[Unreachable] | None
    followers: list[FollowerLag] | None
    incidents: list[Incident] | None
    workflow_incidents: list[WorkflowIncident] | None
    changes: list[ChangeRecord] | None
    exchange: ExchangePanel | None

    @property
    def is_calm(self) -> bool:
        """Whether nothing of what this person may see waits for somebody."""
        return not (self.alerts or self.unreachable or self.incidents or self.workflow_incidents)


def fill_context(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Put the start page into the context of the admin's index."""
    return {**context, "title": gettext("Start page"), "start": build(request, at=timezone.now())}


def build(request: HttpRequest, *, at: datetime) -> StartPage:
    def seen(permission: str, read: Callable[[], T]) -> T | None:
        return read() if request.user.has_perm(permission) else None

    # One row more than the page shows tells whether there are others.
    open_alerts = Alert.objects.filter(status=Alert.Status.OPEN).order_by("-id")
    incidents = Incident.objects.filter(resolved_at=None).order_by("-at")
    stopped = WorkflowIncident.objects.filter(status=WorkflowIncident.Status.OPEN)
    workflow_incidents = stopped.select_related("instance").order_by("-opened_at")
    return StartPage(
        at=at,
        profile=profile(),
        engines=engine_tiles(),
        is_new=request.user.has_perm("records.add_accesskey") and not AccessKey.objects.exists(),
        chart=seen("notifications.view_event", lambda: _chart(at)),
        alerts=seen("notifications.view_alert", lambda: list(open_alerts[: ROWS + 1])),
        unreachable=seen("notifications.view_delivery", lambda: find_unreachable(ROWS + 1)),
        followers=seen("notifications.view_follower", follower_lags),
        incidents=seen("notifications.view_incident", lambda: list(incidents[: ROWS + 1])),
        workflow_incidents=seen(
            f"records.{permission(Scope.WORKFLOWS_READ)}", lambda: list(workflow_incidents[: ROWS + 1])
        ),
        changes=seen("records.view_changerecord", lambda: list(visible_changes(request.user)[:ROWS])),
        exchange=seen("exchange.view_exchangeprocess", lambda: build_panel(at=at)),
    )


def _chart(at: datetime) -> EventChart:
    hours = events_per_hour(at)
    bars = {
        "labels": [date_format(timezone.localtime(hour.hour), "H:i") for hour in hours],
        "datasets": [
            {
                "label": gettext("Events"),
                "data": [hour.count for hour in hours],
                "backgroundColor": "var(--color-primary-600)",
                "borderRadius": 4,
                "maxBarThickness": 24,
            }
        ],
    }
    total = sum(hour.count for hour in hours)
    return EventChart(total=total, data=json.dumps(bars), options=json.dumps(CHART_OPTIONS))
