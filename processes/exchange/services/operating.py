"""The operator's word on a process in doubt: they have looked into the ERP, which did not say in time."""

from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_noop

from config.common.moments import cut_to_milliseconds
from config.records.models import ChangeRecord, LogEntry
from config.records.services.changes import record_change
from processes.exchange.errors import ProcessSettled
from processes.exchange.models import ExchangeProcess
from processes.exchange.services.holding import hold_process
from processes.exchange.services.settling import commit, roll_back
from processes.exchange.services.telling import log

KIND = "process"
COMMITTED = gettext_noop("%(actor)s says that the ERP has committed: %(why)s")
NOT_COMMITTED = gettext_noop("%(actor)s says that the ERP has not committed: %(why)s")


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
        settle(process, at=cut_to_milliseconds(timezone.now()), how=actor)
        record_change(
            kind=KIND,
            object_id=str(process.pk),
            action=ChangeRecord.Action.CHANGED,
            before=before,
            after={"status": process.status, "decision": process.decision, "reason": reason},
            actor=actor,
        )
