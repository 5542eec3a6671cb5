"""Publish a definition file as a numbered revision; a file that cannot be run is refused with every problem in it."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext

from config.audit.changes import record_change
from config.common.errors import Invalid
from config.records.models import ChangeRecord
from messaging.models import Enterprise
from processes.workflows.engine import problems
from processes.workflows.engine.definition import Definition, NodeKind, Trigger
from processes.workflows.engine.parser import parse_definition
from processes.workflows.errors import KeyTaken, NotExecutable
from processes.workflows.models import EventElement, WorkflowDefinition, WorkflowRevision
from processes.workflows.services.timers import replace_start_timers

CATCHING = {NodeKind.START, NodeKind.CATCH, NodeKind.BOUNDARY, NodeKind.RECEIVE_TASK}
KIND = "workflow"


@dataclass(frozen=True)
class Published:
    key: str
    revision: int
    kind: str
    is_new: bool


def publish_definition(*, source: bytes, enterprise: str | None, actor: str, at: datetime) -> Published:
    """Publish a file as the next revision of its definition; the same bytes again return the revision they have."""
    definition = _parse(source)
    if enterprise is not None and not Enterprise.objects.filter(pk=enterprise, active=True).exists():
        raise Invalid({"enterprise": [gettext("Must be an active enterprise.")]})
    digest = hashlib.sha256(source).hexdigest()
    with transaction.atomic():
        row = _lock_definition(definition, enterprise)
        known = row.revisions.filter(digest=digest).values_list("number", flat=True).first()
        if known is not None:
            return Published(row.key, known, row.kind, is_new=False)
        revision = WorkflowRevision.objects.create(
            definition=row, number=row.newest + 1, source=source, digest=digest, actor=actor[:160]
        )
        _make_newest(row, revision, definition, actor=actor, at=at)
        return Published(row.key, revision.number, row.kind, is_new=True)


def _parse(source: bytes) -> Definition:
    try:
        return parse_definition(source)
    except problems.InvalidDefinition as error:
        found = [{"element": each.element, "line": each.line, "message": each.message} for each in error.problems]
        raise NotExecutable(problems=found) from error


def _lock_definition(definition: Definition, enterprise: str | None) -> WorkflowDefinition:
    """Lock the row of a definition, creating it if it is new."""
    # Inserted first, so that of two that publish a new definition at once one waits for the other.
    fresh = WorkflowDefinition(key=definition.key, enterprise_id=enterprise, kind=definition.kind)
    WorkflowDefinition.objects.bulk_create([fresh], ignore_conflicts=True)
    row = WorkflowDefinition.objects.select_for_update(no_key=True).get(pk=definition.key)
    if row.enterprise_id != enterprise:
        raise KeyTaken
    return row


def _make_newest(
    row: WorkflowDefinition, revision: WorkflowRevision, definition: Definition, *, actor: str, at: datetime
) -> None:
    """Let new instances start with this revision, by events and timers too."""
    before = {"revision": row.newest, "name": row.name} if row.newest else None
    row.newest, row.name, row.kind = revision.number, definition.name[:200], definition.kind
    row.save(update_fields=["newest", "name", "kind"])
    EventElement.objects.filter(revision__definition=row, is_start=True).update(is_start=False)
    EventElement.objects.bulk_create(_event_elements(revision, definition))
    replace_start_timers(revision, definition, at=at)
    record_change(
        kind=KIND,
        object_id=row.key,
        action=ChangeRecord.Action.CREATED if before is None else ChangeRecord.Action.CHANGED,
        before=before,
        after={"revision": row.newest, "name": row.name, "enterprise": row.enterprise_id},
        actor=actor,
    )


def _event_elements(revision: WorkflowRevision, definition: Definition) -> Iterator[EventElement]:
    for node in definition.nodes.values():
        if node.event is not None and node.kind in CATCHING and node.event.trigger in (Trigger.MESSAGE, Trigger.SIGNAL):
            yield EventElement(
                revision=revision,
                element=node.id,
                name=node.event.name[:200],
                is_start=node.kind == NodeKind.START and definition.scopes[node.scope].parent is None,
                has_correlation=node.event.correlation is not None,
            )
