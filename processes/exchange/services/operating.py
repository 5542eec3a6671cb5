"""The operator's word on a process: what became of one in doubt, or that one the ERP has left is over."""

from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_noop

from config.audit.changes import record_change
from config.common.times import truncate_to_milliseconds
from config.records.models import ChangeRecord, LogEntry
from processes.exchange.errors import ProcessNotStarted, ProcessSettled
from processes.exchange.models import ExchangeProcess
from processes.exchange.services.holding import hold_process
from processes.exchange.services.settling import commit, give_up, roll_back
from processes.exchange.services.telling import log

KIND = "process"
COMMITTED = gettext_noop("%(actor)s says that the ERP has committed: %(why)s")
NOT_COMMITTED = gettext_noop("%(actor)s says that the ERP has not committed: %(why)s")


ENDED = gettext_noop("Ended by staff: %(text)s")


def end_by_operator(*, process_id: UUID, reason: str, actor: str) -> None:
    """End a STARTED process whose ERP is known to be gone; a late API_3 hears CANCELLED, so nothing is done twice."""
    with transaction.atomic():
        process = hold_process(process_id)
        if process.status != ExchangeProcess.Status.STARTED:
            raise ProcessNotStarted
        before = {"status": process.status}
        at = truncate_to_milliseconds(timezone.now())
        status = ExchangeProcess.Status.INTERRUPTED
        give_up(process, status, at=at, template=ENDED, text=f"{actor}: {reason}")
        record_change(
            kind=KIND,
            object_id=str(process.pk),
            action=ChangeRecord.Action.CHANGED,
            before=before,
            after={"status": process.status, "reason": reason},
            actor=actor,
        )


def resolve_by_operator(*, process_id: UUID, committed: bool, reason: str, actor: str) -> None:
    """Settle a process in doubt by what the operator found; of two who do so at once the second is refused."""
    with transaction.atomic():
        process = hold_process(process_id)
        if process.status != ExchangeProcess.Status.IN_DOUBT:
            raise ProcessSettled
        before = {"status": process.status, "decision": process.decision}
        said = COMMITTED if committed else NOT_COMMITTED
        log(process, said, level=LogEntry.Level.WARNING, actor=actor, why=reason)
        settle = commit if committed else roll_back
        settle(process, at=truncate_to_milliseconds(timezone.now()), how=actor)
        record_change(
            kind=KIND,
            object_id=str(process.pk),
            action=ChangeRecord.Action.CHANGED,
            before=before,
            after={"status": process.status, "decision": process.decision, "reason": reason},
            actor=actor,
        )
