"""Files that survive: a name in its final place always stands for a whole file that is on the disk.

Write: a draft beside the target, fsync, rename, fsync of the folder. A crash leaves a draft (swept later) or the whole
file, never a part of one. After a failed fsync the kernel may have dropped the pages, so a draft is never synced
twice: it is deleted, and the caller writes the whole file again.
"""

import errno
import os
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from config.common.errors import DiskFailed, DiskFull

DRAFT = ".draft-"
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def write_durably(path: Path, chunks: Iterable[bytes]) -> int:
    """Write a file under its final name, whole or not at all; return its size. An older one is replaced."""
    draft = path.with_name(f"{DRAFT}{uuid.uuid4().hex}")
    with _own_errors():
        try:
            size = _write_draft(draft, chunks)
            os.rename(draft, path)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)
    return size


def move_durably(source: Path, target: Path) -> None:
    """Rename a file within the file system so that the new place outlives a crash.

    The target's folder is synced first: a crash between the two may show the file twice on some file systems, never
    nowhere.
    """
    with _own_errors():
        os.rename(source, target)
        sync_folder(target.parent)
        if source.parent != target.parent:
            sync_folder(source.parent)


def delete_durably(path: Path) -> None:
    """Delete a file, if it is there, so that it stays deleted."""
    with _own_errors():
        path.unlink(missing_ok=True)
        sync_folder(path.parent)


def make_folder(path: Path) -> None:
    """Make a folder, and what is missing above it, durably."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    with _own_errors():
        path.mkdir(parents=True, exist_ok=True)
        for folder in reversed(missing):
            sync_folder(folder.parent)


def sweep_drafts(folder: Path, *, older_than_seconds: float) -> int:
    """Delete the drafts that crashes left behind; those being written now are younger. Return how many went."""
    limit = time.time() - older_than_seconds
    old = [draft for draft in folder.glob(f"{DRAFT}*") if draft.lstat().st_mtime < limit]
    for draft in old:
        draft.unlink(missing_ok=True)
    return len(old)


def sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_draft(draft: Path, chunks: Iterable[bytes]) -> int:
    size = 0
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o640)
    with os.fdopen(descriptor, "wb", buffering=0) as file:
        for chunk in chunks:
            size += _write_all(file.fileno(), chunk)
        os.fsync(file.fileno())
    return size


def _write_all(descriptor: int, chunk: bytes) -> int:
    """Write every byte: one `write` may take only a part when the disk is nearly full."""
    rest = memoryview(chunk)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    return len(chunk)


@contextmanager
def _own_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise DiskFull from error
        if error.errno == errno.EIO:
            raise DiskFailed from error
        raise
