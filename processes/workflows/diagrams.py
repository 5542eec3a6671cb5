"""Diagrams as HTTP responses: an SVG image that may run nothing and load nothing."""

import hashlib

from django.http import HttpResponse
from django.utils.functional import Promise
from django.utils.translation import gettext, pgettext_lazy

from processes.workflows.engine.diagram import MarkLabels, Marks, Note, draw_diagram
from processes.workflows.engine.diagram.colours import GONE, OFFERED
from processes.workflows.engine.dialects.report import Report
from processes.workflows.models import WorkflowRevision

# Whoever opens the image by its address must not run what a file has smuggled into it.
POLICY = "sandbox; default-src 'none'"
STATES: dict[str, Promise] = {
    "available": pgettext_lazy("state of a plan item", "available"),
    "enabled": pgettext_lazy("state of a plan item", "enabled"),
    "disabled": pgettext_lazy("state of a plan item", "disabled"),
    "active": pgettext_lazy("state of a plan item", "active"),
    "suspended": pgettext_lazy("state of a plan item", "suspended"),
    "completed": pgettext_lazy("state of a plan item", "completed"),
    "terminated": pgettext_lazy("state of a plan item", "terminated"),
    "failed": pgettext_lazy("state of a plan item", "failed"),
    "closed": pgettext_lazy("state of a plan item", "closed"),
}


def state_label(state: str) -> str:
    return str(STATES.get(state, state))


def mark_report(report: Report) -> Marks:
    """Return the marks of what was translated and of what is only drawn, for the drawing of a definition."""
    translated = Note(OFFERED, "⇄", gettext("Translated"))
    drawn = Note(GONE, "–", gettext("Only drawn"))
    notes = {entry.element: translated for entry in report.translated}
    return Marks(notes={**notes, **{entry.element: drawn for entry in report.drawn if entry.is_whole}})


def respond_with_diagram(revision: WorkflowRevision, marks: Marks | None = None) -> HttpResponse | None:
    """Return the diagram of a revision with these marks on it, or None where its file holds no diagram."""
    states = {state: state_label(state) for state in STATES}
    labels = MarkLabels(tokens=gettext("Tokens"), incident=gettext("Incident"), done=gettext("Done"), states=states)
    picture = draw_diagram(bytes(revision.source), marks, labels)
    if picture is None:
        return None
    response = HttpResponse(picture, content_type="image/svg+xml")
    response["Content-Security-Policy"] = POLICY
    response["X-Content-Type-Options"] = "nosniff"
    response["ETag"] = f'"{hashlib.sha256(picture).hexdigest()[:32]}"'
    return response
