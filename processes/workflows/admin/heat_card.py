"""The heat map on the page of a revision: what is shown in which period, its legend, and its figures as a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.http import urlencode
from django.utils.translation import gettext_lazy as _

from processes.workflows.admin.presentation import kind_label
from processes.workflows.engine.diagram import Marks
from processes.workflows.models import WorkflowRevision
from processes.workflows.services.definitions.library import get_compiled
from processes.workflows.visits.figures import ElementFigures, Period, RevisionFigures, read_figures
from processes.workflows.visits.heat import LegendEntry, Measure, describe_figures, draw_heat_map

MOST_ROWS = 300
MEASURES: Mapping[Measure, Promise] = {Measure.OFTEN: _("How often"), Measure.LONG: _("How long")}
PERIODS: Mapping[Period, Promise] = {
    Period.DAY: _("24 hours"),
    Period.WEEK: _("7 days"),
    Period.MONTH: _("30 days"),
    Period.ALL: _("All time"),
}


@dataclass(frozen=True)
class Choice:
    name: str | Promise
    address: str
    is_chosen: bool


@dataclass(frozen=True)
class FigureRow:
    element: str
    name: str
    kind: str
    figures: ElementFigures
    text: str
    """The figures in words."""


@dataclass(frozen=True)
class HeatCard:
    measure: Measure | None
    """None: the drawing is shown as it is."""
    query: Mapping[str, str]
    """Of the image."""
    measures: Sequence[Choice]
    periods: Sequence[Choice] = ()
    since: datetime | None = None
    """None: nothing has been counted."""
    legend: Sequence[LegendEntry] = ()
    rows: Sequence[FigureRow] = ()
    more: int = 0


def build_heat_card(request: HttpRequest, revision: WorkflowRevision) -> HeatCard:
    """Return what the page shows of the heat map that its address asks for."""
    measure, period = _read(request)
    shown = {"revision": str(revision.number)} if "revision" in request.GET else {}
    measures = [
        Choice(_("Drawing"), _address(shown), measure is None),
        *(
            Choice(name, _address({**shown, "heat": each, "period": period}), measure is each)
            for each, name in MEASURES.items()
        ),
    ]
    if measure is None:
        return HeatCard(None, {}, measures)
    figures = read_figures(revision, period, now=timezone.now())
    rows = _list_rows(revision, figures, measure)
    return HeatCard(
        measure=measure,
        query={"heat": measure, "period": period},
        measures=measures,
        periods=[
            Choice(name, _address({**shown, "heat": measure, "period": each}), period is each)
            for each, name in PERIODS.items()
        ],
        since=figures.since,
        legend=draw_heat_map(figures, measure).legend,
        rows=rows[:MOST_ROWS],
        more=max(0, len(rows) - MOST_ROWS),
    )


def mark_heat(request: HttpRequest, revision: WorkflowRevision) -> Marks | None:
    """Return the marks of the heat map that the address of an image asks for; None where it asks for none."""
    measure, period = _read(request)
    if measure is None:
        return None
    return draw_heat_map(read_figures(revision, period, now=timezone.now()), measure).marks


def _read(request: HttpRequest) -> tuple[Measure | None, Period]:
    measure = next((each for each in Measure if each == request.GET.get("heat")), None)
    return measure, next((each for each in Period if each == request.GET.get("period")), Period.WEEK)


def _address(query: Mapping[str, str]) -> str:
    return f"?{urlencode(query)}#drawing"


def _list_rows(revision: WorkflowRevision, figures: RevisionFigures, measure: Measure) -> list[FigureRow]:
    """List the figures, the most frequent or the longest first."""
    nodes = get_compiled(revision.definition_id, revision.number).nodes if figures.elements else {}
    rows = [
        FigureRow(
            element=element,
            name=" ".join(nodes[element].name.split()) if element in nodes else "",
            kind=kind_label(nodes[element].kind) if element in nodes else "",
            figures=each,
            text=describe_figures(each),
        )
        for element, each in figures.elements.items()
    ]
    if measure is Measure.OFTEN:
        return sorted(rows, key=lambda row: -row.figures.entered)
    return sorted(rows, key=lambda row: -(row.figures.median or 0))
