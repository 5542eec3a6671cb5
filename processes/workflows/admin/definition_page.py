"""What the page of a definition tells: what one of its revisions looks like, and all its revisions."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpRequest

from processes.workflows.admin.drawings import Drawing, draw_revision
from processes.workflows.models import WorkflowDefinition, WorkflowRevision
from processes.workflows.selectors import list_revisions

SHOWN = 50


@dataclass(frozen=True)
class DefinitionPage:
    revision: WorkflowRevision | None
    """The one that is drawn."""
    drawings: list[Drawing]
    revisions: Sequence[WorkflowRevision]
    older: int | None
    """The next page begins below this revision."""


def build_definition_page(request: HttpRequest, definition: WorkflowDefinition) -> DefinitionPage:
    rows = list_revisions(definition.pk)
    chosen = _number(request, "revision")
    revision = rows.filter(number=chosen or definition.newest).first()
    below = _number(request, "before")
    found = list((rows.filter(number__lt=below) if below else rows)[: SHOWN + 1])
    return DefinitionPage(
        revision=revision,
        drawings=[] if revision is None else [draw_revision(revision)],
        revisions=found[:SHOWN],
        older=found[SHOWN - 1].number if len(found) > SHOWN else None,
    )


def _number(request: HttpRequest, name: str) -> int:
    """Read a number of the address; 0 where it is none."""
    text = request.GET.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
