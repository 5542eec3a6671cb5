"""Put a backup back: into an empty installation, or in place of what is there, which is kept beside it.

Whoever is stopped in between runs it again: each step replaces the whole of its part, and until all are done a marker
keeps the product from serving. What was there before goes to a folder of its own; with PostgreSQL a dump of it does.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection, connections
from django.db.migrations.loader import MigrationLoader

from config.common.files import sync_folder, write_durably
from config.engines import amqp
from config.runtime.backup import archive
from config.runtime.backup.create import KEYS, MESSAGES, SETTINGS, fingerprint
from config.runtime.backup.database import (
    Progress,
    applied_migrations,
    check_copy,
    copy_database,
    count_other_sessions,
    file_name,
    load_postgresql,
)
from config.runtime.data_lock import UNFINISHED, stopped
from messaging.files.paths import root
from processes.coordination.protocol.messages import COORDINATOR, WRITER, queue_of_reader
from processes.coordination.schema.routing import reader_names

Say = Callable[[str], Any]
COPIES = "*.sqlite3*"


class RestoreRefused(Exception):
    """This backup cannot be put back here, or not now."""


def restore_backup(path: Path, *, replaces: bool, progress: Progress, say: Say) -> None:
    """Check the whole backup, then put it back and bring everything that follows from it in line."""
    manifest = archive.check(path)
    _check_fits(manifest)
    with stopped(), _nobody_connected():
        if not replaces and not (settings.DATA_DIR / UNFINISHED).exists() and _has_data():
            raise RestoreRefused("There is data here. With --replace it is kept aside and the backup takes its place.")
        place = Place(datetime.now(UTC))
        with place.unpacked(path, progress):
            check_copy(place.database)
            write_durably(settings.DATA_DIR / UNFINISHED, [f"{path.resolve()}\n".encode()])
            place.put_back(progress)
    _bring_in_line(say)
    (settings.DATA_DIR / UNFINISHED).unlink()
    sync_folder(settings.DATA_DIR)
    if place.kept.exists():
        say(f"What was here before is kept in {place.kept}.")


class Place:
    """The parts of the installation that a backup replaces."""

    def __init__(self, at: datetime) -> None:
        self.data: Path = settings.DATA_DIR
        self.kept = self.data / f"before-restore-{at:%Y%m%dT%H%M%SZ}"
        self.new = self.data / ".restore"
        self.database = self.new / file_name()

    @contextmanager
    def unpacked(self, path: Path, progress: Progress) -> Iterator[None]:
        """Unpack all members beside their places, on the disk, before the first of them is used."""
        shutil.rmtree(self.new, ignore_errors=True)
        (self.new / MESSAGES).mkdir(parents=True)
        try:
            for number, (name, _, file) in enumerate(archive.read_members(path)):
                if name not in (file_name(), SETTINGS, *KEYS) and not name.startswith(MESSAGES):
                    raise archive.ArchiveDamaged(f"it has a member that no backup has: {name[:200]!r}")
                target = self.new / name
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("xb") as copy:
                    shutil.copyfileobj(file, copy, archive.CHUNK)
                progress("files unpacked", number + 1, 0)
            os.sync()
            yield
        finally:
            shutil.rmtree(self.new, ignore_errors=True)

    def put_back(self, progress: Progress) -> None:
        self.kept.mkdir()
        if connection.vendor == "postgresql":
            copy_database(self.kept / file_name(), progress)
            connections.close_all()
            load_postgresql(self.database)
        else:
            connections.close_all()
            for file in self.data.glob(COPIES):
                file.rename(self.kept / file.name)
            self.database.rename(settings.DATABASES["default"]["NAME"])
        for name in ("messages", *KEYS):
            if not (self.new / name).exists():
                continue  # keys that were given by variables are in no file
            if (self.data / name).exists():
                (self.data / name).rename(self.kept / name)
            (self.new / name).rename(self.data / name)
        sync_folder(self.kept)
        sync_folder(self.data)


def _check_fits(manifest: archive.Manifest) -> None:
    if manifest.database != connection.vendor:
        raise RestoreRefused(f"The backup is of {manifest.database}, and this installation is on {connection.vendor}.")
    if newer := sorted(set(manifest.migrations) - _known_migrations()):
        raise RestoreRefused(
            f"The backup is of version {manifest.version}, which knows more than this one ({newer[0]}): update first."
        )
    if settings.ENV.field_keys and not set(manifest.field_keys) & {fingerprint(key) for key in settings.FIELD_KEYS}:
        raise RestoreRefused(
            f"None of FIELD_KEYS can read the secrets of this backup: add those of its member {SETTINGS}."
        )


def _known_migrations() -> set[str]:
    """Return the migrations of this version, with those that a squashed one stands for: old databases have them."""
    found = MigrationLoader(None).disk_migrations
    replaced = [old for migration in found.values() for old in migration.replaces]
    return {f"{app}.{name}" for app, name in (*found, *replaced)}


def _has_data() -> bool:
    is_made = bool(connection.introspection.table_names()) and bool(applied_migrations())
    return is_made or any(root().glob("*/*/*"))


@contextmanager
def _nobody_connected() -> Iterator[None]:
    if others := count_other_sessions():
        raise RestoreRefused(f"{others} other sessions use the database: stop every process of every node first.")
    with (settings.DATA_DIR / "prepare.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _bring_in_line(say: Say) -> None:
    """Let all that follows from the database and the files follow from these, in processes that read the new keys."""
    if settings.AMQP_URL:
        _empty_queues()
    rebuilds = [("rebuild_reader", name) for name in reader_names()]
    # A backup has no empty folders: adopting the volume makes them.
    reindex = ("reindex_messages", "--after-restore", "--adopt-volume")
    for command in (("prepare",), reindex, *rebuilds):
        say(f"manage.py {' '.join(command)}")
        done = subprocess.run([sys.executable, str(settings.BASE_DIR / "manage.py"), *command], check=False)
        if done.returncode:
            raise RestoreRefused(f"manage.py {' '.join(command)} has failed: see to it, then run this again.")


def _empty_queues() -> None:
    """Drop what the roles of coordination have told each other: it speaks of change sets that are gone."""
    import pika.exceptions

    for queue in (WRITER, COORDINATOR, *(queue_of_reader(name) for name in reader_names())):
        with ExitStack() as stack:
            session = stack.enter_context(amqp.connect())
            try:
                session.channel().queue_purge(queue)
            except pika.exceptions.ChannelClosedByBroker as error:
                if error.reply_code != 404:  # a queue that was never declared has nothing in it
                    raise
