"""What is done to message files on schedule: expired files and stray drafts are deleted, foreign files reported."""

import time
import uuid
from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from pathlib import Path

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext_noop

from config.audit.log import write_log_entry
from config.common.errors import ApplicationError, DiskFull, VolumeAway
from config.common.files import DRAFT, translate_disk_errors
from config.records.models import LogEntry
from messaging.files.drafts import drop_drafts
from messaging.files.placement import FileForeign, FileMissing, delete_file, withdraw_file
from messaging.files.scan import scan_drafts, scan_files
from messaging.files.volume import check_volume
from messaging.models import Message
from messaging.services.file_errors import report_file_error
from messaging.services.file_moves import place_and_record
from notifications.services.alerts import close_alert, raise_alert

DRAFT_LIFE_SECONDS = 3600.0
BATCH = 500
FOREIGN = "message.foreign_files"
MOST_NAMES = 20

log = structlog.get_logger(__name__)


def with_volume(work: Callable[[], None]) -> Callable[[], None]:
    """Skip the work while the volume of the files is away: then every file seems gone."""

    @wraps(work)
    def run() -> None:
        try:
            check_volume()
            work()
        except VolumeAway as away:
            log.warning("message.upkeep_waits", upkeep=work.__name__, reason=away.words)

    return run


@with_volume
def sweep_drafts() -> None:
    """Delete old drafts that belong to no row, and move the others to their folders. One that fails stops no other."""
    for draft in scan_drafts(older_than_seconds=DRAFT_LIFE_SECONDS, now=time.time()):
        try:
            _sweep(draft)
        except VolumeAway:
            raise
        except (OSError, ApplicationError) as error:
            log.warning("message.draft_not_swept", draft=draft.name, error=repr(error))


@with_volume
def expire_files() -> None:
    """Delete the files that have lain in Log, Error, Unknown or Prepared for RETENTION_DAYS; their rows stay.

    Messages that wait or belong to a live process are left alone. One that fails stops no other.
    """
    expired = Message.objects.filter(
        process=None, file_gone_at=None, arrived_at__lt=Now() - timedelta(days=settings.RETENTION_DAYS)
    ).exclude(folder=Message.Folder.MESSAGES)
    later = Q()
    while batch := list(expired.filter(later).order_by("arrived_at", "pk").values_list("arrived_at", "pk")[:BATCH]):
        for _, message_id in batch:
            _try_to_expire(expired, message_id)
        # Behind the last of the batch: what failed is not tried again in this run.
        at, last = batch[-1]
        later = Q(arrived_at__gt=at) | Q(arrived_at=at, pk__gt=last)


@with_volume
def report_foreign_files() -> None:
    """Report to staff what lies in the message folders and is no message file; it is left alone."""
    foreign = [found for found in scan_files() if found.name is None]
    if not foreign:
        close_alert(FOREIGN, "messages", gettext_noop("no foreign files in the message folders"))
        return
    names = sorted(f"{found.database_id}/{found.folder}/{_printable(found.path.name)}" for found in foreign)
    detail = {"count": len(names), "names": ", ".join(names[:MOST_NAMES])}
    title = gettext_noop("Files in the message folders that are not messages (%(count)s): %(names)s")
    with transaction.atomic():
        raise_alert(FOREIGN, "messages", title, detail)
        write_log_entry(level=LogEntry.Level.WARNING, kind="file", subject="messages", template=title, data=detail)


def _sweep(draft: Path) -> None:
    with transaction.atomic():
        message = _lock_by_token(draft)
        if message is not None and message.file_gone_at is None and not _place_draft(message):
            return
        with translate_disk_errors():
            draft.unlink(missing_ok=True)


def _try_to_expire(expired: QuerySet[Message], message_id: int) -> None:
    try:
        _expire_file(expired, message_id)
    except FileForeign as error:
        with transaction.atomic():
            message = Message.objects.select_for_update(no_key=True).get(pk=message_id)
            Message.objects.filter(pk=message_id).update(moving_from="", file_gone_at=Now(), file_missing_at=Now())
            report_file_error(message, gettext_noop("The file %(name)s is in none of its folders"), str(error))
    except VolumeAway:
        raise
    except (OSError, ApplicationError) as error:
        with transaction.atomic():
            message = Message.objects.get(pk=message_id)
            report_file_error(message, gettext_noop("The file %(name)s cannot be deleted: %(reason)s"), str(error))


def _expire_file(expired: QuerySet[Message], message_id: int) -> None:
    """Turn the file into a draft under the row's lock, and delete it after the commit.

    A process that has lost the lock cannot commit: where somebody put the message back meanwhile, its draft is found.
    """
    with transaction.atomic():
        message = expired.select_for_update(no_key=True).filter(pk=message_id).first()
        if message is None:
            return
        try:
            withdraw_file(message)
        except DiskFull:
            delete_file(message)  # no room even for a name: expired files are deleted to make some
        Message.objects.filter(pk=message_id).update(file_gone_at=Now(), moving_from="")
    drop_drafts([message])


def _lock_by_token(draft: Path) -> Message | None:
    try:
        token = uuid.UUID(draft.name.removeprefix(DRAFT))
    except ValueError:
        return None
    return Message.objects.select_for_update(no_key=True).filter(token=token).first()


def _place_draft(message: Message) -> bool:
    """Move the file to its folder, where the draft is all there is of it; return whether it lies there now."""
    try:
        place_and_record(message)
    except (FileMissing, FileForeign) as error:
        log.warning("message.draft_unsettled", message=message.public_id, error=repr(error))
        return False
    return True


def _printable(name: str) -> str:
    """Return the beginning of a name without control characters: a foreign file may be called anything."""
    return "".join(letter if letter.isprintable() else "?" for letter in name[:60])
