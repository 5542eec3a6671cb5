"""Walk through the folders of the messages, one entry after the other, however many there are."""

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from config.common.files import DRAFT
from config.common.moments import cut_to_milliseconds
from messaging.files.names import FileName, parse_name
from messaging.files.places import Folder, folder_path, root


@dataclass(frozen=True)
class FoundFile:
    """Something in a folder; `name` is None for what is no message file."""

    database_id: str
    folder: str
    path: Path
    name: FileName | None
    size: int
    changed_at: datetime


def scan_files(folders: Sequence[str] = tuple(Folder.values)) -> Iterator[FoundFile]:
    """Yield everything but drafts that lies in these folders, folder after folder, of every database."""
    for database_id in _database_folders():
        for folder in folders:
            for entry in _entries(folder_path(database_id, folder)):
                if not entry.name.startswith(DRAFT):
                    yield _found(database_id, folder, entry)


def scan_drafts(*, older_than_seconds: float, now: float) -> Iterator[Path]:
    """Yield the drafts that nobody can still be writing."""
    for database_id in _database_folders():
        for folder in (Folder.MESSAGES, Folder.PREPARED):
            for entry in _entries(folder_path(database_id, folder)):
                if entry.name.startswith(DRAFT) and _status(entry).st_mtime < now - older_than_seconds:
                    yield Path(entry.path)


def _database_folders() -> list[str]:
    try:
        return sorted(entry.name for entry in os.scandir(root()) if entry.is_dir(follow_symlinks=False))
    except FileNotFoundError:
        return []


def _entries(folder: Path) -> Iterator["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except (FileNotFoundError, NotADirectoryError):
        return


def _found(database_id: str, folder: str, entry: "os.DirEntry[str]") -> FoundFile:
    status = _status(entry)
    name = parse_name(entry.name) if stat.S_ISREG(status.st_mode) else None
    changed_at = cut_to_milliseconds(datetime.fromtimestamp(status.st_mtime, UTC))
    return FoundFile(database_id, folder, Path(entry.path), name, status.st_size, changed_at)


def _status(entry: "os.DirEntry[str]") -> os.stat_result:
    return entry.stat(follow_symlinks=False)
