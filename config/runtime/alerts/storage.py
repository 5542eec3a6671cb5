"""The disks that the product writes to: alerts when the volume of the messages is away, when a disk is full, read-only,
failing or silent, and before that when little room is left. They close by themselves.

Each node looks at what it has mounted itself, so its name is part of the subject: the scheduler, and every web server
and worker, which may run on nodes of their own.
"""

import errno
import os
import socket
import time
import uuid
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import structlog
from django.conf import settings
from django.db import DatabaseError, connection
from django.utils.translation import gettext_noop

from config.common.background.daemon import Daemon
from config.common.background.one_at_a_time import OneAtATime, StillRunning
from config.common.errors import ApplicationError, VolumeAway
from config.engines import postgresql
from config.runtime.alerts.ongoing_alerts import OngoingAlerts
from messaging.files.paths import root
from messaging.files.volume import NO_FOLDER, NO_MARKER, check_marker, find_missing_folder, read_marker
from messaging.models import ExchangeDatabase, Message

VOLUME, FAILED, LOW = "storage.volume", "storage.failed", "storage.low"
CANNOT_WRITE = gettext_noop("The disk of %(path)s on %(node)s is not writable: %(reason)s (errno %(errno)s)")
DATABASE_FULL = gettext_noop("The disk of PostgreSQL is full: %(reason)s (%(state)s)")
DATABASE = "disk/postgresql"
LITTLE_ROOM = gettext_noop("Low disk space for %(path)s on %(node)s: %(free)s MB and %(names)s files left")
OVER = {
    VOLUME: gettext_noop("the volume is available again"),
    FAILED: gettext_noop("the disk is writable again"),
    LOW: gettext_noop("there is free space again"),
}
EVERY_SECONDS = 10.0
PATIENCE_SECONDS = 30.0
GLANCE_SECONDS = 1.0
LOW_SHARE = 0.05
LOW_BYTES = 2 * 1024**3
"""Little room is the smaller of the two: a twentieth of a small disk, two gigabytes of a large one."""
LOW_NAMES = 1000
ENOUGH = 1.1
"""An alert of little room closes only at so many times the limit, so that it does not come and go."""
PROBE = b"postern\n" * 512

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Disk:
    subject: str
    path: Path


@dataclass(frozen=True)
class Finding:
    kind: str
    subject: str
    title: str
    detail: dict[str, Any]


class Examiner:
    """Examines the disks, never twice at once while a silent disk blocks the first examination."""

    def __init__(self, look: Callable[[], list[Finding]], *, patience: float, node: str) -> None:
        self._examination = OneAtATime("storage", look)
        self._patience = patience
        self._node = node

    def findings(self) -> list[Finding]:
        """Return what was found; that the examination does not end is a finding too. Raise what it fails of."""
        self._examination.begin()
        try:
            return list(self._examination.wait(self._patience))
        except StillRunning:
            silent = OSError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT))
            return [_cannot_write(Disk(f"disk/{self._node}", settings.DATA_DIR), silent, self._node)]


class StorageWatch:
    """What this node has seen of its disks."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, node: str = "", *, asks_database: bool = False
    ) -> None:
        self._node = node or socket.gethostname()
        self._asks_database = asks_database
        self._alerts = {kind: OngoingAlerts(kind, clock) for kind in OVER}
        self._low: frozenset[str] = frozenset()
        self._marker: uuid.UUID | VolumeAway | OSError | None = None
        """What the examiner has found in place of the marker, or the error."""
        self._databases: list[str] = []
        self._missing: dict[str, Path] = {}
        """The first missing folder of each database that lacks one, by the databases known at the last look."""
        self._missing_before: dict[str, Path] = {}
        self._examiner = Examiner(self._examine, patience=PATIENCE_SECONDS, node=self._node)

    def run_once(self) -> bool:
        """Look at the disks and raise or close their alerts. There is never more to do at once."""
        findings = self._examiner.findings()
        if not any(finding.detail.get("errno") == errno.ETIMEDOUT for finding in findings):
            findings += self._judge_volume()
        if self._asks_database:
            findings += ask_postgresql()
        self._low = frozenset(finding.subject for finding in findings if finding.kind == LOW)
        for finding in findings:
            # Where the database itself is on a full disk, this line is all that can be written.
            log.warning("storage.trouble", kind=finding.kind, **finding.detail)
        for kind, alerts in self._alerts.items():
            known = alerts.known()
            found = {finding.subject: finding for finding in findings if finding.kind == kind}
            for subject, finding in found.items():
                alerts.raise_or_repeat(subject, finding.title, finding.detail, is_known=subject in known)
            for subject in known.keys() - found.keys():
                alerts.close(subject, OVER[kind], known[subject], is_own=self._is_own(subject))
        return False

    def _is_own(self, subject: str) -> bool:
        """Return whether this watch alone sees the subject: a disk of its node, or the database's if it asks."""
        return self._asks_database if subject == DATABASE else subject.split("/")[1] == self._node

    def _examine(self) -> list[Finding]:
        """Touch the disks, which may take for ever; the database is asked elsewhere."""
        try:
            self._marker = read_marker()
            found = {id: find_missing_folder(id) for id in self._databases}
            self._missing = {id: folder for id, folder in found.items() if folder is not None}
        except (VolumeAway, OSError) as error:
            self._marker, self._missing = error, {}
        return examine(disks(self._node), self._node, low=self._low)

    def _check_missing_folders(self) -> None:
        """Raise `VolumeAway` where a folder is missing that must be there: the first message of a database makes them.

        Where that message came between the two questions, the folder is here at the next look.
        """
        before, self._missing_before = self._missing_before, self._missing
        still = [id for id, folder in self._missing.items() if before.get(id) == folder]
        with_files = Message.objects.order_by().filter(database__in=still, file_gone_at=None) if still else None
        database_id = with_files.values_list("database_id", flat=True).first() if with_files is not None else None
        if database_id is not None:
            raise VolumeAway(NO_FOLDER, path=str(self._missing[database_id]))

    def _judge_volume(self) -> list[Finding]:
        try:
            if isinstance(self._marker, Exception):
                raise self._marker
            check_marker(self._marker)
            self._check_missing_folders()
            self._databases = list(ExchangeDatabase.objects.order_by("pk").values_list("pk", flat=True))
        except VolumeAway as away:
            return [Finding(VOLUME, f"volume/{self._node}", away.title, {**away.detail, "node": self._node})]
        except (OSError, ApplicationError, DatabaseError) as error:
            # The disk itself refuses, or that of the database does: each is seen below.
            log.warning("storage.volume_unknown", error=repr(error))
        return []


def disks(node: str) -> list[Disk]:
    """List what is written to: the data, and the messages where they are on a volume of their own."""
    found = [Disk(f"disk/{node}", settings.DATA_DIR)]
    with suppress(OSError, VolumeAway):  # a volume that is away is told of as such
        if read_marker() is not None and os.stat(root()).st_dev != os.stat(settings.DATA_DIR).st_dev:
            found.append(Disk(f"disk/{node}/messages", root()))
    return found


def examine(found: Collection[Disk], node: str, *, low: Collection[str] = ()) -> list[Finding]:
    """Return what is wrong with the disks: each is written to and asked for its room; `low` had little last time."""
    findings = []
    for disk in found:
        try:
            write_probe(disk.path / f".probe-{node}")
            findings += _little_room(disk, node, share=ENOUGH if disk.subject in low else 1.0)
        except OSError as error:
            findings.append(_cannot_write(disk, error, node))
    return findings


def ask_postgresql() -> list[Finding]:
    """Return a finding if the database's own disk, which may be on another machine, is full."""
    if connection.vendor != "postgresql":
        return []  # its file is on a disk of ours
    try:
        postgresql.probe_disk()
    except psycopg.errors.DiskFull as error:
        detail = {"reason": str(error).partition("\n")[0], "state": error.sqlstate}
        return [Finding(FAILED, DATABASE, DATABASE_FULL, detail)]
    except psycopg.Error as error:
        log.warning("storage.database_unknown", error=str(error))  # it is away, which is told elsewhere
    return []


def examine_without_writing() -> list[Finding]:
    """Return what can be seen of the disks at once, for a page."""
    node = socket.gethostname()
    findings = []
    try:
        if read_marker() is None:
            findings.append(Finding(VOLUME, f"volume/{node}", NO_MARKER, {"path": str(root()), "node": node}))
    except VolumeAway as away:
        findings.append(Finding(VOLUME, f"volume/{node}", away.title, {**away.detail, "node": node}))
    for disk in disks(node):
        try:
            _see_that_it_takes_writes(disk.path)
            findings += _little_room(disk, node)
        except OSError as error:
            findings.append(_cannot_write(disk, error, node))
    return findings


def write_probe(path: Path) -> None:
    """Write a file and bring it to the disk, then delete it; a disk that refuses raises its error."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o640)
    try:
        if os.write(descriptor, PROBE) != len(PROBE):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    with suppress(FileNotFoundError):  # another process of this node was at the same
        os.unlink(path)


def _see_that_it_takes_writes(path: Path) -> None:
    room = os.statvfs(path)
    if room.f_flag & os.ST_RDONLY:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
    if room.f_bavail == 0 or (room.f_files and room.f_favail == 0):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))


def _little_room(disk: Disk, node: str, *, share: float = 1.0) -> list[Finding]:
    room = os.statvfs(disk.path)
    free, limit = room.f_bavail * room.f_frsize, min(room.f_blocks * room.f_frsize * LOW_SHARE, LOW_BYTES)
    # Some file systems make room for names as they go, and count none: their limit is nought.
    names_limit = min(room.f_files * LOW_SHARE, LOW_NAMES)
    if free >= limit * share and room.f_favail >= names_limit * share:
        return []
    detail = {"path": str(disk.path), "node": node, "free": free // 1024**2, "names": room.f_favail}
    return [Finding(LOW, disk.subject, LITTLE_ROOM, detail)]


def _cannot_write(disk: Disk, error: OSError, node: str) -> Finding:
    detail = {"path": str(disk.path), "node": node, "reason": error.strerror or str(error), "errno": error.errno}
    return Finding(FAILED, disk.subject, CANNOT_WRITE, detail)


_watch = StorageWatch(asks_database=True)
_glance = Examiner(examine_without_writing, patience=GLANCE_SECONDS, node=socket.gethostname())


def read_storage_findings() -> list[Finding]:
    """Return what a page can say of this node's disks at once; the page is shown whatever fails."""
    try:
        return _glance.findings()
    except Exception as error:
        log.exception("storage.not_seen")
        node = socket.gethostname()
        return [_cannot_write(Disk(f"disk/{node}", settings.DATA_DIR), OSError(0, repr(error)), node)]


def check_storage() -> bool:
    return _watch.run_once()


def storage_daemon() -> Daemon:
    """Look at the disks from a process without a scheduler, which may have the node to itself."""
    return Daemon(StorageWatch().run_once, EVERY_SECONDS, "storage")
