"""Time-outs: a STARTED process is aborted, a READY_TO_COMMIT one is in doubt. This is where doubt is decided."""

from datetime import timedelta
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_noop

from config.common.database.leases import claim
from processes.exchange.models import ExchangeProcess
from processes.exchange.services.settlement import abort_process, put_in_doubt

Status = ExchangeProcess.Status
BATCH = 50
LEASE = timedelta(seconds=30)


def time_out_once() -> bool:
    """Handle a batch of processes whose deadline has passed; return whether there may be more.

    A restart changes no deadline: the time runs on.
    """
    waiting = ExchangeProcess.objects.filter(status__in=[Status.STARTED, Status.READY_TO_COMMIT])
    claimed = claim(waiting, limit=BATCH, lease=LEASE)
    for process in claimed:
        _time_out(process.pk, fence=process.fence)
    return len(claimed) == BATCH


def _time_out(process_id: UUID, *, fence: int) -> None:
    """Handle one process under its lock."""
    with transaction.atomic():
        # A call of the ERP since the claim has raised the fence: then the time-out is void.
        rows = ExchangeProcess.objects.select_for_update(no_key=True).filter(pk=process_id, fence=fence)
        process = rows.first()
        if process is None:
            return
        at = timezone.now()
        if process.status == Status.STARTED:
            text = gettext_noop("The ERP did not respond in time: the messages are offered again")
            abort_process(process, Status.TIMED_OUT, at=at, template=text, was_silent=True)
        elif process.status == Status.READY_TO_COMMIT:
            put_in_doubt(process, at=at)
