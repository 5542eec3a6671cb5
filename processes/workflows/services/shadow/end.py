"""End the trial of a revision: it is promoted, or discarded. Its twins and differences are deleted either way.

Inputs that still wait are deleted by the follower, which finds no shadow for them.
"""

from datetime import datetime

from django.db import transaction

from processes.workflows.engine.parser import parse_definition
from processes.workflows.errors import RevisionConflict, ShadowExists, ShadowNotFound
from processes.workflows.models import WorkflowDefinition, WorkflowShadow
from processes.workflows.services.definitions.publish import make_current
from processes.workflows.services.definitions.scenarios import refuse_if_any_fails
from processes.workflows.services.shadow.begin import record_shadow_change
from processes.workflows.shadows import get_shadow


def promote_shadow(key: str, *, revision: int | None, actor: str, at: datetime) -> int:
    """Make the revision on trial the current one, unless another was published since the trial began; return it.

    `revision` is the one that the caller has seen on trial; None: whichever it is.
    """
    shadow = get_shadow(key)
    definition = parse_definition(bytes(shadow.revision.source), key)
    # Scenarios may have been written since. Before the transaction, as when a file is published.
    refuse_if_any_fails(definition, shadow.definition.enterprise_id)
    with transaction.atomic():
        row, locked = _lock(shadow, revision)
        if row.newest != locked.against.number:
            raise RevisionConflict(revision=row.newest)
        record_shadow_change(row, before=locked.revision.number, after=None, actor=actor)
        make_current(row, locked.revision, definition, actor=actor, at=at)
        return locked.revision.number


def discard_shadow(key: str, *, revision: int | None, actor: str) -> int:
    """End the trial; the revision stays to be looked at. Return its number."""
    with transaction.atomic():
        row, locked = _lock(get_shadow(key), revision)
        record_shadow_change(row, before=locked.revision.number, after=None, actor=actor)
        locked.delete()
        return locked.revision.number


def _lock(shadow: WorkflowShadow, revision: int | None) -> tuple[WorkflowDefinition, WorkflowShadow]:
    """Lock the definition, as publishing does, then the trial; it must be the one that was seen."""
    row = WorkflowDefinition.objects.select_for_update(no_key=True).get(pk=shadow.definition_id)
    rows = WorkflowShadow.objects.select_for_update(of=["self"]).select_related("revision", "against")
    locked = rows.defer("against__source").filter(pk=shadow.pk).first()
    if locked is None:
        raise ShadowNotFound
    if revision not in (None, locked.revision.number):
        raise ShadowExists(revision=locked.revision.number)
    return row, locked
