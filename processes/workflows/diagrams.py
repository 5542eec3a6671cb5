"""Diagrams as answers: an image that may run nothing and load nothing."""

import hashlib

from django.http import HttpResponse
from django.utils.functional import Promise
from django.utils.translation import gettext, pgettext_lazy

from processes.workflows.engine.diagram import MarkLabels, Marks, draw_diagram
from processes.workflows.models import WorkflowRevision

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


def respond_with_diagram(revision: WorkflowRevision, marks: Marks | None = None) -> HttpResponse | None:
    """Draw a revision, with what is marked on it; None where its file holds no diagram."""
    states = {state: state_label(state) for state in STATES}
    words = MarkLabels(tokens=gettext("Tokens"), incident=gettext("Incident"), done=gettext("Done"), states=states)
    picture = draw_diagram(bytes(revision.source), marks, words)
    if picture is None:
        return None
    answer = HttpResponse(picture, content_type="image/svg+xml")
    answer["Content-Security-Policy"] = POLICY
    answer["X-Content-Type-Options"] = "nosniff"
    answer["ETag"] = f'"{hashlib.sha256(picture).hexdigest()[:32]}"'
    return answer
