"""Diagrams as answers: an image that may run nothing and load nothing."""

import hashlib

from django.http import HttpResponse
from django.utils.translation import gettext

from processes.workflows.engine.diagram import Marks, Words, draw
from processes.workflows.models import WorkflowRevision

POLICY = "sandbox; default-src 'none'"


def answer_diagram(revision: WorkflowRevision, marks: Marks | None = None) -> HttpResponse | None:
    """Draw a revision, with what is marked on it; None where its file holds no diagram."""
    words = Words(tokens=gettext("Tokens"), incident=gettext("Incident"), done=gettext("Done"))
    picture = draw(bytes(revision.source), marks, words)
    if picture is None:
        return None
    answer = HttpResponse(picture, content_type="image/svg+xml")
    answer["Content-Security-Policy"] = POLICY
    answer["X-Content-Type-Options"] = "nosniff"
    answer["ETag"] = f'"{hashlib.sha256(picture).hexdigest()[:32]}"'
    return answer
