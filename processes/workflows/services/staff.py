"""What staff do on the pages: guarded against a form that is sent twice, and against what others did meanwhile."""

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from django.db import transaction

from config.common.errors import Conflict
from config.records.form_claims import SentTwice, claim_form
from processes.workflows.errors import VersionConflict
from processes.workflows.heads import Head, get_head
from processes.workflows.models import WorkflowInstance
from processes.workflows.services.returns import return_instance
from processes.workflows.services.start import StartRequest, start_instance


class StartedBefore(Conflict):
    """This form has been sent before: its instance was started then, and is kept no longer."""


def start_from_form(wanted: StartRequest, *, form_id: UUID, actor: str, at: datetime) -> UUID:
    """Begin one instance for a form, though it be sent twice; return the id of that instance each time."""
    key = f"form:{form_id.hex}"
    known = _started_by(key)
    if known is not None:
        return known
    try:
        with transaction.atomic():
            claim_form(form_id, purpose="workflow-start")
            return start_instance(replace(wanted, start_key=key), actor=actor, at=at).id
    except SentTwice as error:
        known = _started_by(key)
        if known is None:
            raise StartedBefore from error
        return known


def return_if_unchanged(
    instance_id: UUID, *, version: int, expected_version: int, reason: str, actor: str, at: datetime
) -> Head:
    """Return to a version, unless the instance has moved on since the person was told what that would do."""
    with transaction.atomic():
        head = get_head(instance_id, lock=True)
        if head.number != expected_version:
            raise VersionConflict(version=head.number)
        return return_instance(instance_id, version=version, reason=reason, actor=actor, at=at)


def _started_by(key: str) -> UUID | None:
    return WorkflowInstance.objects.filter(start_key=key).values_list("pk", flat=True).first()
