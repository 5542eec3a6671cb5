"""Bring rows and files together again, from the names of the files.

Always: a file without a row gets one, a file that is not where its row says is brought there, foreign files are told
and left alone. After a database was restored older than the disk, Log, Error and Unknown on the disk win over the row:
what lies there has been processed, and must not be processed again.
"""

from collections.abc import Callable, Iterator
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
from processes.exchange.reindex.found_files import STATUS_IN, Folder, ForeignFile, Parties, Status, build_row
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
    """Files of messages that were given up, or whose time was over: staff decide about those."""


def reindex(*, after_restore: bool = False, progress: Callable[[int], None] = lambda files: None) -> Report:
    """Walk through every folder and put right what disagrees; safe to run twice and to be interrupted.

    Without its volume nothing can be told: `VolumeAway`. A database that was restored takes over the volume it finds.
    """
    if after_restore:
        adopt_restored_volume()
        advance_sequences(at=timezone.now())
        delete_lost_replies()
    check_volume()
    walk = _Walk(after_restore=after_restore)
    for batch in _batches(scan_files(ORDER)):
        with transaction.atomic():
            for found in batch:
                walk.take(found)
        progress(walk.report.files)
    check_volume()  # what was not found is about to count
    if after_restore:
        settle_restored_processes(committed=walk.committed, at=timezone.now())
    with transaction.atomic():
        walk.doubts.hold_waiting(walk.put_aside)
        walk.doubts.hold_answered(after_restore=after_restore)
        wake_mover()
    _look_for_missing(walk.report)
    return walk.report


def _batches(files: Iterator[FoundFile]) -> Iterator[list[FoundFile]]:
    while batch := list(islice(files, BATCH)):
        yield batch


class _Walk:
    """What is found on the way."""

    def __init__(self, *, after_restore: bool) -> None:
        self._after_restore = after_restore
        self._parties = Parties()
        self.doubts = DoubtfulProcesses(timezone.now())
        self.report = Report()
        self.committed: set[str] = set()
        """Processes of which a reply lies as only a commit puts it."""
        self.put_aside: set[int] = set()
        """What lies in Unknown, while its row names a process that may know nothing of it."""

    def take(self, found: FoundFile) -> None:
        self.report.files += 1
        try:
            self._take(found)
        except (ForeignFile, FileForeign) as error:
            self.report.foreign.append(f"{found.database_id}/{found.folder}/{found.path.name!r}: {error}")

    def _take(self, found: FoundFile) -> None:
        database, name = self._parties.check(found)
        rows = Message.objects.select_for_update().filter(enterprise=database.enterprise_id, public_id=name.id)
        known = rows.first()
        if known is None:
            self._add(build_row(found, database, name))
        elif name_of(known) != found.path.name:
            raise ForeignFile("another message has its id")
        elif known.file_gone_at is not None and not self._has_gone_on(known, found.folder):
            self._offer(known, found)
        elif found.folder not in (known.folder, _expected(known)):
            self._agree(known, found)

    def _add(self, message: Message) -> None:
        self.report.added += 1
        if message.status == Status.IN_DOUBT:
            self.doubts.hold(message)
            return
        if message.status == Status.INCORRECT:
            message.error_text = gettext("Found in Error; why is no longer known.")
        message.save(force_insert=True)

    def _has_gone_on(self, message: Message, folder: str) -> bool:
        """Say whether a message that the copy shows as given up was brought back after it, and taken by the ERP."""
        return self._after_restore and folder in (Folder.LOG, Folder.UNKNOWN) and folder != message.folder

    def _offer(self, message: Message, found: FoundFile) -> None:
        """Leave the file where it lies, and list the message among those that staff may bring back."""
        Message.objects.filter(pk=message.pk, file_missing_at=None).update(file_missing_at=timezone.now())
        self.report.returned.append(f"{found.database_id}/{found.folder}/{found.path.name}")

    def _agree(self, message: Message, found: FoundFile) -> None:
        """The row and the disk disagree: decide which of them is right."""
        if message.status in (Status.IN_PROCESS, Status.IN_DOUBT) and _is_out(message, found.folder):
            self.committed.add(str(message.process))
        if self._after_restore and _wins(found.folder, message):
            self._believe(message, found.folder)
            self.report.corrected += 1
        elif is_file(path_of(message)):
            move_durably(found.path, path_of(message))  # a stopped move left two of it
        else:
            place_and_record(message)
            self.report.moved += 1

    def _believe(self, message: Message, folder: str) -> None:
        """Let the disk win."""
        message.moving_from, message.file_gone_at, message.file_missing_at = "", None, None
        if folder == Folder.UNKNOWN and message.process is not None:
            self.put_aside.add(message.pk)  # its process is settled when every file has been seen
            return
        if folder == Folder.UNKNOWN:
            message.folder = folder
            self.doubts.hold(message)
            return
        message.folder, message.status, message.process = folder, STATUS_IN[Folder(folder)], None
        message.settled_at, message.set_aside_at = timezone.now(), None
        if folder == Folder.ERROR:
            message.error_text = message.error_text or gettext("Found in Error; why is no longer known.")
        message.save()


def _expected(message: Message) -> str:
    """Return where the file may still lie; one in Unknown may have been brought back and put aside once more."""
    return "" if message.moving_from == Folder.UNKNOWN else message.moving_from


def _is_out(message: Message, folder: str) -> bool:
    """Say whether a reply lies where only a commit brings it."""
    return message.direction == Message.Direction.REPLY and folder in (Folder.MESSAGES, Folder.LOG)


def _wins(folder: str, message: Message) -> bool:
    """Say whether the disk is to be believed: what lies there has gone on since the row was copied."""
    if folder == Folder.LOG:
        return True
    if folder == Folder.ERROR:
        return message.status != Status.PROCESSED
    is_open = message.direction == Message.Direction.REQUEST and message.status in (Status.WAITING, Status.IN_PROCESS)
    return folder == Folder.UNKNOWN and (is_open or message.status == Status.INCORRECT)


def _look_for_missing(report: Report) -> None:
    """Name the rows whose files are nowhere."""
    for message in Message.objects.filter(file_gone_at=None).order_by("pk").iterator(chunk_size=BATCH):
        if is_file(path_of(message)):
            continue
        with transaction.atomic():
            held = Message.objects.select_for_update().filter(pk=message.pk).first()
            if held is None:
                continue
            try:
                place_and_record(held)
            except (FileMissing, FileForeign) as error:
                report.missing.append(f"{held.database_id}/{held.folder}: {error}")
