"""Begin the trial of a revision beside the current one."""

from datetime import datetime

from config.audit.changes import record_change
from config.records.models import ChangeRecord
from processes.workflows.engine.definition import Definition
from processes.workflows.errors import NothingBeside, ShadowExists, TooManyShadows
from processes.workflows.models import WorkflowDefinition, WorkflowRevision, WorkflowShadow
from processes.workflows.services.shadow.follow import HEARING

KIND = "workflow"
MOST_SHADOWS = 20


def begin_shadow(
    row: WorkflowDefinition, revision: WorkflowRevision, definition: Definition, *, actor: str, at: datetime
) -> bool:
    """Let a revision hear what the instances of the current one are given; return False where it does already.

    The definition is locked: of two that begin at once the second finds the trial of the first.
    """
    against = row.revisions.filter(number=row.newest, is_executable=True).defer("source").first()
    if against is None or definition.decision is not None or definition.kind != row.kind:
        raise NothingBeside
    known = WorkflowShadow.objects.filter(definition=row).select_related("revision").first()
    if known is not None:
        if known.revision_id == revision.pk:
            return False
        raise ShadowExists(revision=known.revision.number)
    if WorkflowShadow.objects.count() >= MOST_SHADOWS:
        raise TooManyShadows(most=MOST_SHADOWS)
    WorkflowShadow.objects.create(
        definition=row, revision=revision, against=against, actor=actor[:160], hears_until=at + HEARING
    )
    record_shadow_change(row, before=None, after=revision.number, actor=actor)
    return True


def record_shadow_change(row: WorkflowDefinition, *, before: int | None, after: int | None, actor: str) -> None:
    record_change(
        kind=KIND,
        object_id=row.key,
        action=ChangeRecord.Action.CHANGED,
        before={"shadow": before},
        after={"shadow": after},
        actor=actor,
    )
