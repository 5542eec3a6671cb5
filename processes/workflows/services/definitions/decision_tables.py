"""Save a decision table from the editor: as the next revision of its decision, or as a new decision."""

from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext

from config.common.errors import Invalid
from processes.workflows.engine.bpmn.file import MAX_NAME, is_key
from processes.workflows.engine.dmn.edit import EditedTable, make_file, write_table
from processes.workflows.errors import NoDecision
from processes.workflows.models import WorkflowRevision
from processes.workflows.services.definitions.publish import Published, publish_definition


@dataclass(frozen=True)
class NewDecision:
    key: str
    name: str
    enterprise: str | None


def save_table(revision: WorkflowRevision, table: EditedTable, *, actor: str, at: datetime) -> Published:
    """Publish a revision's file with its table replaced, unless another revision has been published since."""
    source = write_table(bytes(revision.source), revision.definition_id, table)
    if source is None:
        raise NoDecision
    return publish_definition(
        source=source,
        enterprise=revision.definition.enterprise_id,
        actor=actor,
        at=at,
        expected=(revision.definition_id, revision.number),
    )


def create_table(new: NewDecision, table: EditedTable, *, actor: str, at: datetime) -> Published:
    """Publish a new file of one decision with this table."""
    if not is_key(new.key):
        raise Invalid({"key": [gettext("Letters, digits, “_”, “.” and “-”, up to %(most)s.") % {"most": MAX_NAME}]})
    source = write_table(make_file(new.key, new.name or new.key), new.key, table)
    assert source is not None
    return publish_definition(source=source, enterprise=new.enterprise, actor=actor, at=at, expected=(new.key, 0))
