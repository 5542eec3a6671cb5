"""The page of statistics: totals of a period by party, the largest first, and how they were spread over it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from config.admin_base.theme import ModelAdmin
from config.common.database.counted_spans import DAY, HOUR, floor_day, floor_hour
from messaging.admin.presentation import format_duration
from processes.exchange.admin.chart import BarChart, draw_bars
from processes.exchange.models import ExchangeProcess
from processes.exchange.statistics import By, count_over_time, count_totals

ROWS = 100


@dataclass(frozen=True)
class Period:
    """So long up to the end of the present hour or day: in between there are totals to be read."""

    name: Promise
    length: timedelta
    stretches: int
    is_of_days: bool = False

    def end(self, now: datetime) -> datetime:
        return floor_day(now) + DAY if self.is_of_days else floor_hour(now) + HOUR


PERIODS = {
    "24h": Period(_("24 hours"), timedelta(hours=24), 24),
    "7d": Period(_("7 days"), timedelta(days=7), 28),
    "30d": Period(_("30 days"), timedelta(days=30), 30, is_of_days=True),
    "90d": Period(_("90 days"), timedelta(days=90), 45, is_of_days=True),
}
TITLES: dict[By, Promise] = {
    "database": _("Databases"),
    "device": _("Devices"),
    "subsystem": _("Subsystems"),
    "enterprise": _("Enterprises"),
}


@dataclass(frozen=True)
class Row:
    figures: Mapping[str, Any]
    waiting: str


@dataclass(frozen=True)
class StatisticsPage:
    by: By
    period: str
    chosen: Row | None
    """The party that the chart is about; all of them, if none."""
    whole: Row
    rows: list[Row]
    others: int
    chart: BarChart


def statistics_view(model_admin: ModelAdmin[ExchangeProcess], request: HttpRequest) -> HttpResponse:
    if not model_admin.has_view_permission(request):
        raise PermissionDenied
    by: By = next((each for each in TITLES if each == request.GET.get("by")), "database")
    period = request.GET.get("period", "")
    page = _build(by, period if period in PERIODS else "24h", request.GET.get("id", ""), now=timezone.now())
    context = {
        **model_admin.admin_site.each_context(request),
        "title": gettext("Statistics"),
        "page": page,
        "kinds": list(TITLES.items()),
        "periods": [(key, each.name) for key, each in PERIODS.items()],
    }
    return TemplateResponse(request, "admin/exchange/statistics.html", context)


def _build(by: By, period: str, id: str, *, now: datetime) -> StatisticsPage:
    chosen = PERIODS[period]
    end = chosen.end(now)
    start = end - chosen.length
    figures = sorted(count_totals(by, start, end), key=lambda row: (-row["sent"], -row["bytes"], row["id"]))
    found = next((row for row in figures if row["id"] == id), None)
    buckets = count_over_time(by, id if found else "", start, end, chosen.stretches)
    return StatisticsPage(
        by=by,
        period=period,
        chosen=None if found is None else _row(found),
        whole=_row(_add_up(figures)),
        rows=[_row(each) for each in figures[:ROWS]],
        others=max(0, len(figures) - ROWS),
        chart=draw_bars(buckets, end),
    )


def _row(figures: Mapping[str, Any]) -> Row:
    mean = figures["mean_waiting_seconds"]
    return Row(figures, "–" if mean is None else format_duration(timedelta(seconds=mean)))


def _add_up(figures: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Add the parties together; the mean is theirs, by how much each had settled."""
    names = ("sent", "processed", "incorrect", "deadlocks", "bytes", "replies")
    whole: dict[str, Any] = {name: sum(row[name] for row in figures) for name in names}
    settled = whole["processed"] + whole["incorrect"]
    waited = sum((row["mean_waiting_seconds"] or 0) * (row["processed"] + row["incorrect"]) for row in figures)
    return {**whole, "mean_waiting_seconds": waited / settled if settled else None}
