"""The start page: what runs, what happened in the last day, what waits for a person. Every read is bounded."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext

from config.admin_base.times import format_local
from config.audit.selectors import visible_changes
from config.audit.subjects import find_subject_names
from config.dashboard.engines import EngineTile, engine_tiles, profile
from config.dashboard.exchange_panel import ExchangePanel, build_panel
from config.dashboard.first_steps import FirstSteps, find_first_steps
from config.dashboard.live.admission import parts_of
from config.dashboard.live.broadcast import broadcaster
from config.dashboard.live.counts import MOST_COUNTED
from config.dashboard.live.inbox import InboxRow, sorted_rows
from config.dashboard.live.page_state import Parts, read_state
from config.dashboard.live.words import live_words
from config.records.kinds import kind_title
from config.records.models import ChangeRecord
from config.version import VERSION
from notifications.selectors import events_per_hour

ROWS = 5
MOST_ROWS = 12
"""So many of what waits for a person are shown; the script shows as many."""
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
class DrawnCards:
    """What the server alone draws, and the script fetches from time to time; None where the person may not see it."""

    chart: EventChart | None
    changes: list[tuple[ChangeRecord, str]] | None
    """Each with what it was about, by its name."""


@dataclass(frozen=True)
class StartPage:
    """What the page shows; a part that the person may not see is None."""

    at: datetime
    is_wall: bool
    profile: str
    engines: list[EngineTile]
    first_steps: FirstSteps | None
    may: frozenset[str]
    live: Parts
    """As the socket goes on from it; the template shows what `may` allows."""
    inbox: list[InboxRow]
    inbox_total: int
    words: dict[str, str]
    """What the script says of statuses, by section: JSON."""
    drawn: DrawnCards
    exchange: ExchangePanel | None
    has_broker: bool
    most: int = MOST_COUNTED
    version: str = VERSION
    inbox_rows: int = MOST_ROWS

    @property
    def parts(self) -> str:
        """What the page was drawn for: the script draws it anew when the socket says otherwise."""
        return ",".join(sorted(self.may))


def fill_context(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Put the start page into the context of the admin's index; on a wall screen it is dark and has no menu."""
    page = build(request, at=timezone.now())
    wall = {"theme": "dark", "is_nav_sidebar_enabled": False} if page.is_wall else {}
    return {**context, "title": gettext("Start page"), "start": page, **wall}


def build(request: HttpRequest, *, at: datetime) -> StartPage:
    may = parts_of(request.user)
    live = broadcaster.latest_parts()
    if live is None:
        state = read_state(None, now=0.0)
        assert state is not None  # without an earlier one it always reads
        live = state.parts
    inbox = sorted_rows(live.inbox, may)
    is_wall = request.GET.get("wall") == "1"
    return StartPage(
        at=at,
        is_wall=is_wall,
        profile=profile(),
        engines=engine_tiles(),
        first_steps=None if is_wall else find_first_steps(request, at=at),
        may=may,
        live=live,
        inbox=inbox[:MOST_ROWS],
        inbox_total=len(inbox) + sum(count for part, count in live.beyond.items() if part in may),
        words=live_words(),
        has_broker=bool(settings.AMQP_URL),
        drawn=DrawnCards(None, None) if is_wall else draw_cards(request, at=at),
        exchange=build_panel(list(live.processes.values()), at=at) if "processes" in may else None,
    )


def drawn_cards_view(request: HttpRequest) -> HttpResponse:
    """Answer the cards alone, to the script of a page that is open."""
    return TemplateResponse(request, "dashboard/drawn_cards.html", {"drawn": draw_cards(request, at=timezone.now())})


def draw_cards(request: HttpRequest, *, at: datetime) -> DrawnCards:
    def seen(permission: str, read: Callable[[], T]) -> T | None:
        return read() if request.user.has_perm(permission) else None

    return DrawnCards(
        chart=seen("notifications.view_event", lambda: _chart(at)),
        changes=seen("records.view_changerecord", lambda: _name_changes(visible_changes(request.user)[:ROWS])),
    )


def _name_changes(changes: Iterable[ChangeRecord]) -> list[tuple[ChangeRecord, str]]:
    subjects = {change.pk: f"{change.kind}/{change.object_id}" for change in changes}
    names = find_subject_names(set(subjects.values()))
    nameless = ("", "")
    return [
        (change, f"{kind_title(change.kind)} {names.get(subjects[change.pk], nameless)[0] or change.object_id}")
        for change in changes
    ]


def _chart(at: datetime) -> EventChart:
    hours = events_per_hour(at)
    bars = {
        "labels": [format_local(hour.hour, "H:i") for hour in hours],
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
