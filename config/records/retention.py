"""Retention of the shared tables: what the hourly and daily upkeep deletes."""

from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.admin.models import LogEntry as AdminLogEntry
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from config.api.idempotency import KEPT_FOR
from config.audit.changes import first_needed_change
from config.common.database.batches import delete_in_batches
from config.common.database.sql import in_number_array
from config.records.models import ChangeRecord, IdempotencyRecord, LogEntry, RunningProcess, SignInAttempt

BATCH = 1000
SILENT_FOR = timedelta(days=1)


def expire_answers() -> int:
    """Delete answers that are no longer repeated, and sign-ins, failed or not, that are over; return how many."""
    now = timezone.now()
    answers = IdempotencyRecord.objects.filter(created_at__lt=now - KEPT_FOR)
    windows = SignInAttempt.objects.filter(window_ends_at__lte=now)
    sessions = Session.objects.filter(expire_date__lt=now)
    RunningProcess.objects.filter(seen_at__lt=now - SILENT_FOR).delete()
    return delete_in_batches(answers) + delete_in_batches(windows) + delete_in_batches(sessions, order="expire_date")


def expire_log() -> None:
    """Delete entries of the log older than `RETENTION_DAYS`; those of exchange processes stay with their processes."""
    oldest = timezone.now() - timedelta(days=settings.RETENTION_DAYS)
    delete_in_batches(LogEntry.objects.exclude(kind=LogEntry.Kind.EXCHANGE).filter(at__lt=oldest), order="at")


def expire_changes() -> None:
    """Delete lines of the change log older than `CHANGE_DAYS`; what is still to be made an event of stays.

    One that was taken back goes after the line that took it back, so that no line points to nothing.
    """
    oldest, end = timezone.now() - timedelta(days=settings.CHANGE_DAYS), first_needed_change()
    while _expire_changes_once(oldest, end):
        pass
    # What Django's admin notes of accounts and groups beside it.
    delete_in_batches(AdminLogEntry.objects.filter(action_time__lt=oldest))


def _expire_changes_once(oldest: datetime, end: int | None) -> int:
    """Go through the old lines once, in order of id, which is the order of time; return how many went."""
    after = total = 0
    lines = ChangeRecord.objects.all() if end is None else ChangeRecord.objects.filter(pk__lt=end)
    while step := list(lines.filter(pk__gt=after).order_by("pk").values_list("pk", "at")[:BATCH]):
        old = [pk for pk, at in step if at < oldest]
        if not old:
            break
        total += _delete_changes(old)
        after = step[-1][0]
    return total


@transaction.atomic
def _delete_changes(pks: list[int]) -> int:
    """Delete those of the lines that none has taken back, looked at again under lock: a revert holds its line."""
    free = ChangeRecord.objects.filter(~Exists(ChangeRecord.objects.filter(reverts=OuterRef("pk"))))
    rows = free.filter(pk__in=in_number_array(pks)).order_by("pk").select_for_update(skip_locked=True)
    locked = list(rows.values_list("pk", flat=True))
    deleted, _ = free.filter(pk__in=in_number_array(locked)).delete()
    return deleted
