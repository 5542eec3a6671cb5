"""Make a backup: the database first, then the files of the messages, then keys and settings, while everything runs.

Files are never older than their rows: whatever a row of the copied moment names was on the disk before. Messages that
move from folder to folder meanwhile are looked for again until a round finds nothing new; one that is found in two
places is kept in both, and after a restore the later folder counts.
"""

import os
import tempfile
from dataclasses import fields
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from django.conf import settings
from django.db import connection

from config.common.times import format_time
from config.environment.table import Environment, variable_of
from config.runtime.backup import archive
from config.runtime.backup.database import Progress, applied_migrations, copy_database, file_name
from config.version import VERSION
from messaging.files.paths import root
from messaging.files.volume import check_volume

MESSAGES = "messages/"
SETTINGS = "settings.env"
KEYS = ("secret_key", "field_key")
MOST_ROUNDS = 10
"""Rounds through the folders; a message moves four times in its life."""


def create_backup(path: Path, progress: Progress) -> archive.Manifest:
    """Write a backup to the file; return what it has."""
    manifest = archive.Manifest(
        version=VERSION,
        made_at=format_time(datetime.now(UTC)),
        database=connection.vendor,
        migrations=applied_migrations(),
        field_keys=[fingerprint(key) for key in settings.FIELD_KEYS],
    )
    check_volume()
    with archive.written(path) as writer:
        # Beside the backup, where there is room for it: the folder for temporary files may be small.
        with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder:
            copy = Path(folder) / file_name()
            copy_database(copy, progress)
            writer.add_file(file_name(), copy)
        _add_messages(writer, progress)
        check_volume()  # last: what was read is the volume that the database knows, and no empty folder in its place
        for name in KEYS:
            writer.add_file(name, settings.DATA_DIR / name)
        writer.add_bytes(SETTINGS, _settings_text())
        writer.finish(manifest)
    return manifest


def fingerprint(key: str) -> str:
    """Return what tells one key from another and says nothing about it."""
    return sha256(b"postern field key " + key.encode()).hexdigest()[:16]


def _add_messages(writer: archive.ArchiveWriter, progress: Progress) -> None:
    added: set[str] = set()
    for _ in range(MOST_ROUNDS):
        found = (Path(where, file).relative_to(root()) for where, _, files in os.walk(root()) for file in files)
        new = [name for name in map(str, found) if name not in added]
        for number, name in enumerate(new):
            if writer.add_file(MESSAGES + name, root() / name):
                added.add(name)
            progress("messages", number + 1, len(new))
        if not new:
            return


def _settings_text() -> bytes:
    """Return the variables of this installation as lines for a file of variables."""
    declared = tuple(variable_of(field) for field in fields(Environment))
    known = {each.name for each in declared}
    families = tuple(f"{each.name}_" for each in declared if each.is_family)
    found = sorted((name, value) for name, value in os.environ.items() if name in known or name.startswith(families))
    return "".join(f"{name}={value}\n" for name, value in found).encode()
