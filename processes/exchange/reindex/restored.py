"""Processes of a restored database: they went on after the copy was made, and the disk shows how."""

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext_noop

from messaging.files.placement import find_files
from messaging.models import Message
from processes.exchange.models import ExchangeProcess, ProcessMessage
from processes.exchange.services.settlement import (
    abort_process,
    put_in_doubt,
    settle_committed,
    settle_rolled_back,
)

Status, Result = ExchangeProcess.Status, ProcessMessage.Result
SETTLED = (Message.Status.PROCESSED, Message.Status.INCORRECT)


def delete_lost_replies() -> None:
    """Delete the rows of replies that were deleted after the copy was made: their files are in no folder."""
    unsettled = [Message.Status.IN_PROCESS, Message.Status.IN_DOUBT]
    for reply in Message.objects.filter(direction=Message.Direction.REPLY, status__in=unsettled).iterator():
        if not find_files(reply):
            reply.delete()


def settle_restored_processes(*, committed: set[str], at: datetime) -> None:
    """Settle the processes that the copy shows as under way.

    Where a reply lies in a folder where only a commit puts it, the ERP has committed; where all replies are gone, it
    has not. A STARTED process is over. The others are in doubt.
    """
    for key in ExchangeProcess.objects.filter(
        status__in=[Status.STARTED, Status.READY_TO_COMMIT, Status.IN_DOUBT]
    ).values_list("pk", flat=True):
        with transaction.atomic():
            process = ExchangeProcess.objects.select_for_update(no_key=True).get(pk=key)
            _settle(process, str(key) in committed, at=at)


def _settle(process: ExchangeProcess, is_committed: bool, *, at: datetime) -> None:
    if process.status == Status.STARTED:
        text = gettext_noop("The database was restored: the messages are offered again")
        abort_process(process, Status.TIMED_OUT, at=at, template=text)
    elif is_committed or _has_settled_requests(process):
        settle_committed(process, at=at, how="restored")
    elif process.replies and not Message.objects.filter(written_by=process.pk).exists():
        # Only a roll back deletes replies.
        settle_rolled_back(process, at=at, how="restored")
    elif process.status == Status.READY_TO_COMMIT:
        put_in_doubt(process, at=at)


def _has_settled_requests(process: ExchangeProcess) -> bool:
    """Return whether all requests of a process without replies are settled; some of them another process may have."""
    decided = process.entries.filter(is_left_out=False, result__in=[Result.PROCESSED, Result.INCORRECT])
    if process.replies or not decided.exists():
        return False
    return not decided.exclude(message__status__in=SETTLED).exists()
