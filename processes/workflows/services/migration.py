"""What a migration to another revision would need, before anybody asks for it."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from processes.workflows.engine.execution.errors import CommandFailed, CommandRejected
from processes.workflows.engine.migration import MigrationRejected, Unmapped
from processes.workflows.errors import NotPossible
from processes.workflows.heads import get_head
from processes.workflows.selectors import get_revision
from processes.workflows.services.commands import run_engine
from processes.workflows.services.steps import CommandRequest


def preview_migration(instance_id: UUID, *, revision: int, elements: Mapping[str, str], at: datetime) -> list[Unmapped]:
    """Return the elements that need a counterpart; empty: the instance can be moved. Nothing is changed."""
    head = get_head(instance_id)
    get_revision(head.definition, revision)
    command = {"command": "migrate", "revision": revision, "elements": dict(elements)}
    try:
        run_engine(head, CommandRequest(command, actor="", at=at))
    except MigrationRejected as refusal:
        return refusal.unmapped
    except (CommandRejected, CommandFailed) as refusal:
        raise NotPossible(reason=refusal.reason) from refusal
    return []
