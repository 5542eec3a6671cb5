"""Reindex: bring rows and files into agreement, from the names of the files.

A file without a row gets one, a file that is not where its row says is moved there, unrecognized files are reported and
left alone. After a database was restored older than the disk, Log, Error and Unknown on the disk win over the row: what
lies there has been processed, and must not be processed again.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from config.common.database.sequences import advance_sequences
from config.common.files import move_durably
from messaging.files.names import name_of
from messaging.files.paths import path_of
from messaging.files.placement import FileForeign, FileMissing, is_file
from messaging.files.scan import FoundFile, scan_files
from messaging.files.volume import adopt_restored_volume, check_volume
from messaging.models import Message
from messaging.services.file_moves import place_and_record, wake_mover
from processes.exchange.reindex.doubts import DoubtfulProcesses
from processes.exchange.reindex.found_files import STATUS_IN, Folder, Parties, Status, UnrecognizedFile, build_row
from processes.exchange.reindex.restored import delete_lost_replies, settle_restored_processes

BATCH = 200
# The strongest witness first: what lies in Log has been processed, whatever lies elsewhere.
ORDER = (Folder.LOG, Folder.ERROR, Folder.UNKNOWN, Folder.PREPARED, Folder.MESSAGES)


@dataclass
class Report:
    files: int = 0
    added: int = 0
    corrected: int = 0
    moved: int = 0
    foreign: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    returned: list[str] = field(default_factory=list)
    """Files of messages that were given up or whose retention was over: staff decide about those."""


def reindex(*, after_restore: bool = False, progress: Callable[[int], None] = lambda files: None) -> Report:
    """Walk through every folder and correct what disagrees; safe to run twice and to be interrupted.

    Raises `VolumeAway` without the volume. A database that was restored takes over the volume it finds.
    """
    if after_restore:
        adopt_restored_volume()
        advance_sequences(at=timezone.now())
        delete_lost_replies()
    check_volume()
    walk = _Walk(after_restore=after_restore)
    files = scan_files(ORDER)
    while batch := list(islice(files, BATCH)):
        with transaction.atomic():
            for found in batch:
                walk.visit(found)
        progress(walk.report.files)
    check_volume()  # from here on a file that was not found counts as missing
    if after_restore:
        settle_restored_processes(committed=walk.committed, at=timezone.now())
    with transaction.atomic():
        walk.doubts.add_waiting(walk.put_aside)
        walk.doubts.add_answered(after_restore=after_restore)
        wake_mover()
    _report_missing(walk.report)
    return walk.report


class _Walk:
    """The state of one run: what was found so far, and what follows from it."""

    def __init__(self, *, after_restore: bool) -> None:
        self._after_restore = after_restore
        self._parties = Parties()
        self.doubts = DoubtfulProcesses(timezone.now())
        self.report = Report()
        self.committed: set[str] = set()
        """Processes with a reply in a folder where only a commit puts it."""
        self.put_aside: set[int] = set()
        """Messages whose files lie in Unknown while their rows name a process, which is settled later."""

    def visit(self, found: FoundFile) -> None:
        self.report.files += 1
        try:
            self._visit(found)
        except (UnrecognizedFile, FileForeign) as error:
            self.report.foreign.append(f"{found.database_id}/{found.folder}/{found.path.name!r}: {error}")

    def _visit(self, found: FoundFile) -> None:
        database, name = self._parties.check(found)
        rows = Message.objects.select_for_update().filter(enterprise=database.enterprise_id, public_id=name.id)
        known = rows.first()
        if known is None:
            self._add(build_row(found, database, name))
            return
        if name_of(known) != found.path.name:
            raise UnrecognizedFile("another message has its id")
        # Its move may be pending. Not so in Unknown: the file may have been put aside there once more.
        pending_in = "" if known.moving_from == Folder.UNKNOWN else known.moving_from
        if known.file_gone_at is not None and not self._was_taken_since(known, found.folder):
            self._report_returned(known, found)
        elif found.folder not in (known.folder, pending_in):
            self._resolve_mismatch(known, found)

    def _add(self, message: Message) -> None:
        self.report.added += 1
        if message.status == Status.IN_DOUBT:
            self.doubts.add(message)
            return
        if message.status == Status.INCORRECT:
            message.error_text = gettext("Found in Error; the reason is no longer known.")
        message.save(force_insert=True)

    def _was_taken_since(self, message: Message, folder: str) -> bool:
        """Return whether a message that the restored row shows as given up was requeued later, and taken by the ERP."""
        return self._after_restore and folder in (Folder.LOG, Folder.UNKNOWN) and folder != message.folder

    def _report_returned(self, message: Message, found: FoundFile) -> None:
        """Leave the file where it lies, and list the message for staff, who may requeue it."""
        Message.objects.filter(pk=message.pk, file_missing_at=None).update(file_missing_at=timezone.now())
        self.report.returned.append(f"{found.database_id}/{found.folder}/{found.path.name}")

    def _resolve_mismatch(self, message: Message, found: FoundFile) -> None:
        """Decide whether the row or the disk is right, and correct the other."""
        is_reply = message.direction == Message.Direction.REPLY
        is_delivered = is_reply and found.folder in (Folder.MESSAGES, Folder.LOG)  # only a commit brings it there
        if message.status in (Status.IN_PROCESS, Status.IN_DOUBT) and is_delivered:
            self.committed.add(str(message.process))
        if self._after_restore and _disk_wins(found.folder, message):
            self._correct_row(message, found.folder)
            self.report.corrected += 1
        elif is_file(path_of(message)):
            move_durably(found.path, path_of(message))  # a stopped move left two of it
        else:
            place_and_record(message)
            self.report.moved += 1

    def _correct_row(self, message: Message, folder: str) -> None:
        """Write the row as the folder says."""
        message.moving_from, message.file_gone_at, message.file_missing_at = "", None, None
        if folder == Folder.UNKNOWN and message.process is not None:
            self.put_aside.add(message.pk)  # its process is settled when every file has been seen
            return
        if folder == Folder.UNKNOWN:
            message.folder = folder
            self.doubts.add(message)
            return
        message.folder, message.status, message.process = folder, STATUS_IN[Folder(folder)], None
        message.settled_at, message.set_aside_at = timezone.now(), None
        if folder == Folder.ERROR:
            message.error_text = message.error_text or gettext("Found in Error; the reason is no longer known.")
        message.save()


def _disk_wins(folder: str, message: Message) -> bool:
    """Return whether the disk is right: the message has gone on since the row was copied."""
    if folder == Folder.LOG:
        return True
    if folder == Folder.ERROR:
        return message.status != Status.PROCESSED
    is_open = message.direction == Message.Direction.REQUEST and message.status in (Status.WAITING, Status.IN_PROCESS)
    return folder == Folder.UNKNOWN and (is_open or message.status == Status.INCORRECT)


def _report_missing(report: Report) -> None:
    """Report the rows whose files are in no folder."""
    for message in Message.objects.filter(file_gone_at=None).order_by("pk").iterator(chunk_size=BATCH):
        if is_file(path_of(message)):
            continue
        with transaction.atomic():
            locked = Message.objects.select_for_update().filter(pk=message.pk).first()
            if locked is None:
                continue
            try:
                place_and_record(locked)
            except (FileMissing, FileForeign) as error:
                report.missing.append(f"{locked.database_id}/{locked.folder}: {error}")
