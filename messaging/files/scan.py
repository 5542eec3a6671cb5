"""Scan the folders of messages entry by entry, however many there are."""

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from config.common.files import DRAFT
from config.common.times import truncate_to_milliseconds
from messaging.files.names import FileName, parse_name
from messaging.files.paths import Folder, folder_path, root

# A file may say any time of itself; rows can hold none after this.
LATEST = datetime(9999, 12, 31, tzinfo=UTC).timestamp()


@dataclass(frozen=True)
class FoundFile:
    """An entry of a folder; `name` is None for one that is no message file."""

    database_id: str
    folder: str
    path: Path
    name: FileName | None
    size: int
    changed_at: datetime


def scan_files(folders: Sequence[str] = tuple(Folder.values)) -> Iterator[FoundFile]:
    """Yield every entry of these folders but drafts, for every database."""
    for database_id in _database_folders():
        for folder in folders:
            for entry, status in _entries(folder_path(database_id, folder)):
                if entry.name.startswith(DRAFT):
                    continue
                name = parse_name(entry.name) if stat.S_ISREG(status.st_mode) else None
                changed_at = datetime.fromtimestamp(min(max(status.st_mtime, 0), LATEST), UTC)
                yield FoundFile(
                    database_id, folder, Path(entry.path), name, status.st_size, truncate_to_milliseconds(changed_at)
                )


def scan_drafts(*, older_than_seconds: float, now: float) -> Iterator[Path]:
    """Yield the drafts that nobody can still be writing."""
    for database_id in _database_folders():
        for folder in (Folder.MESSAGES, Folder.PREPARED):
            for entry, status in _entries(folder_path(database_id, folder)):
                is_draft = entry.name.startswith(DRAFT) and not stat.S_ISDIR(status.st_mode)
                if is_draft and status.st_mtime < now - older_than_seconds:
                    yield Path(entry.path)


def _database_folders() -> list[str]:
    try:
        return sorted(entry.name for entry in os.scandir(root()) if entry.is_dir(follow_symlinks=False))
    except FileNotFoundError:
        return []


def _entries(folder: Path) -> Iterator[tuple["os.DirEntry[str]", os.stat_result]]:
    """Yield the entries of a folder with their status; links are not followed."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                try:
                    status = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue  # deleted meanwhile
                yield entry, status
    except (FileNotFoundError, NotADirectoryError):
        return
