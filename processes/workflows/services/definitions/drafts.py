"""Drafts of drawings: saved as one draws, published as a revision, discarded."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext

from config.common.errors import Invalid
from processes.workflows.engine.bpmn.xml import MAX_BYTES
from processes.workflows.engine.parser import parse_definition
from processes.workflows.engine.problems import InvalidDefinition, Problem
from processes.workflows.errors import DraftChanged, DraftNotFound, TooManyDrafts
from processes.workflows.models import WorkflowDraft
from processes.workflows.services.definitions.publish import Published, publish_definition

MOST_DRAFTS = 200


@dataclass(frozen=True)
class Saved:
    version: int
    name: str
    problems: tuple[Problem, ...]
    """Why it could not be published as it is; empty: it could be."""


@dataclass(frozen=True)
class Origin:
    """The revision that a drawing was begun from."""

    definition: str
    revision: int


def save_draft(draft_id: UUID, source: str, *, version: int, origin: Origin | None, actor: str, at: datetime) -> Saved:
    """Save a drawing over the version that its page knows, 0 for none; raise `DraftChanged` over another one.

    What the page has sent before and got no answer to is saved already: it is answered like the first time.
    """
    if len(source.encode()) > MAX_BYTES or "\0" in source:
        raise Invalid({"source": [gettext("At most %(most)s bytes of XML.") % {"most": MAX_BYTES}]})
    name, problems = check_drawing(source)
    values = {"source": source, "name": name, "actor": actor[:160], "saved_at": at}
    with transaction.atomic():
        if version == 0 and _create(draft_id, origin, values):
            return Saved(1, name, problems)
        row = WorkflowDraft.objects.select_for_update(no_key=True).filter(pk=draft_id).first()
        if row is None:
            # Published or discarded meanwhile: to bring it back would undo a decision.
            raise DraftNotFound
        if row.source == source and row.version == version + 1:
            return Saved(row.version, name, problems)
        if row.version != version:
            raise DraftChanged(version=row.version)
        WorkflowDraft.objects.filter(pk=draft_id).update(version=version + 1, **values)
        return Saved(version + 1, name, problems)


def publish_draft(
    draft_id: UUID, *, version: int, enterprise: str | None, actor: str, at: datetime, shadow: bool = False
) -> Published:
    """Publish the version that the page has shown; the draft has served then. `shadow` tries it beside the current one.

    Not in one transaction: what is published is parsed and played first. Whoever is cut off between the two publishes
    the same again, which is the same revision.
    """
    row = WorkflowDraft.objects.filter(pk=draft_id).first()
    if row is None:
        raise DraftNotFound
    if row.version != version:
        raise DraftChanged(version=row.version)
    made = publish_definition(source=row.source.encode(), enterprise=enterprise, actor=actor, at=at, shadow=shadow)
    # What was saved meanwhile in another window is a draft of its own.
    WorkflowDraft.objects.filter(pk=draft_id, version=version).delete()
    return made


def discard_draft(draft_id: UUID) -> None:
    """Delete a draft; whoever does it second finds it gone, which is what was wanted."""
    WorkflowDraft.objects.filter(pk=draft_id).delete()


def check_drawing(source: str) -> tuple[str, tuple[Problem, ...]]:
    """Return the name of what is drawn and why it could not run."""
    try:
        definition = parse_definition(source.encode())
    except InvalidDefinition as error:
        return "", error.problems
    return (definition.name or definition.key)[:200], ()


def _create(draft_id: UUID, origin: Origin | None, values: dict[str, object]) -> bool:
    """Return whether this call has made the draft, and not one before it."""
    if WorkflowDraft.objects.count() >= MOST_DRAFTS:
        raise TooManyDrafts(most=MOST_DRAFTS)
    begun = {} if origin is None else {"definition_id": origin.definition, "revision": origin.revision}
    _row, is_new = WorkflowDraft.objects.get_or_create(pk=draft_id, defaults={**begun, **values})
    return is_new
