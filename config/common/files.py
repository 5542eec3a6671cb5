"""Files that survive: a name in its final place always stands for a whole file that is on the disk.

Write: a draft beside the target, fsync, rename, fsync of the folder. A crash leaves a draft (swept later) or the whole
file, never a part of one. After a failed fsync the kernel may have dropped the pages, so a draft is never synced
twice: it is deleted, and the caller writes the whole file again.

Nothing here trusts a file system beyond POSIX: a change of a folder is on the disk once that folder is synced, and of
what was not synced a crash may keep any part.
"""

import errno
import os
import stat
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from config.common.errors import DiskFailed, DiskFull

DRAFT = ".draft-"
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
# What file systems say that cannot, or will not, let a file have two names.
_ONE_NAME_ONLY = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


def write_durably(path: Path, chunks: Iterable[bytes]) -> int:
    """Write a file under its final name, whole or not at all; return its size. An older one is replaced."""
    draft = path.with_name(f"{DRAFT}{uuid.uuid4().hex}")
    with translate_disk_errors():
        try:
            size = write_draft(draft, chunks)
            os.rename(draft, path)
        except BaseException:
            _unlink_if_there(draft)
            raise
        sync_folder(path.parent)
    return size


def move_durably(source: Path, target: Path) -> None:
    """Move a file so that after a crash it is in the old or the new place, and after the return in the new one.

    The new name is on the disk before the old one goes: of a rename, a file system without a journal may keep only the
    half that takes the old name away. Whoever is stopped in between leaves both names to the one file, and moving it
    again, there or back, finishes that.
    """
    move_all_durably([(source, target)])


def move_all_durably(moves: Sequence[tuple[Path, Path]]) -> None:
    """Move several files as `move_durably` does each: all new names are on the disk before the first old one goes.

    Each folder is synced once, whatever the number of files.
    """
    with translate_disk_errors():
        has_two = [_add_name(source, target) for source, target in moves]
        for (source, target), two in zip(moves, has_two, strict=True):
            if not two:
                os.rename(source, target)
        _sync_each(target.parent for _, target in moves)
        for (source, target), two in zip(moves, has_two, strict=True):
            if two:
                _drop_old_name(source, target)
        _sync_each(source.parent for source, _ in moves)


def delete_durably(path: Path) -> None:
    """Delete a file, if it is there, so that it stays deleted."""
    with translate_disk_errors():
        _unlink_if_there(path)
        sync_folder(path.parent)


def make_folder(path: Path) -> None:
    """Make a folder, and what is missing above it, durably.

    Nothing is made in a folder before that one is on the disk. One that is there may not be: its maker may have been
    killed before the sync, or be about to do it.
    """
    with translate_disk_errors():
        missing = [folder for folder in (path, *path.parents) if not _is_there(folder)]
        there = missing[-1].parent if missing else path
        with suppress(PermissionError):  # above the data folder: made by the operator, not ours to read
            sync_folder(there.parent)
        for folder in reversed(missing):
            with suppress(FileExistsError):  # somebody was first
                os.mkdir(folder)
            sync_folder(folder.parent)
        sync_folder(path)  # tells also when something else has the name


def sweep_drafts(folder: Path, *, older_than_seconds: float) -> int:
    """Delete the drafts that crashes left behind; those being written now are younger. Return how many went."""
    limit = time.time() - older_than_seconds
    old = [draft for draft in _drafts(folder) if _is_older(draft, limit)]
    for draft in old:
        _unlink_if_there(draft)
    return len(old)


def sync_folder(folder: Path) -> None:
    with _opened(folder, os.O_RDONLY | os.O_DIRECTORY) as descriptor:
        os.fsync(descriptor)


def write_draft(draft: Path, chunks: Iterable[bytes]) -> int:
    """Bring a whole new file to the disk under a passing name, which is durable once its folder is synced."""
    size = 0
    with _opened(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW) as descriptor:
        for chunk in chunks:
            size += _write_all(descriptor, chunk)
        os.fsync(descriptor)
    return size


@contextmanager
def translate_disk_errors() -> Iterator[None]:
    """Raise `DiskFull` or `DiskFailed` for a full or failing disk; other errors of the system pass."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise DiskFull from error
        if error.errno == errno.EIO:
            raise DiskFailed from error
        raise


def _sync_each(folders: Iterable[Path]) -> None:
    for folder in dict.fromkeys(folders):
        sync_folder(folder)


def _write_all(descriptor: int, chunk: bytes) -> int:
    """Write every byte: one `write` may take only a part when the disk is nearly full."""
    rest = memoryview(chunk)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    return len(chunk)


@contextmanager
def _opened(path: Path, flags: int) -> Iterator[int]:
    descriptor = os.open(path, flags, 0o640)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _add_name(source: Path, target: Path) -> bool:
    """Add the new name beside the old one; return whether the file has two names now."""
    try:
        os.link(source, target, follow_symlinks=False)
    except FileExistsError:
        old, new = os.lstat(source), os.lstat(target)
        if (old.st_dev, old.st_ino) == (new.st_dev, new.st_ino):
            return old.st_nlink > 1  # an earlier move was stopped; or both paths are the one name it has
        # A link cannot replace a file, a rename can.
        draft = target.with_name(f"{DRAFT}{uuid.uuid4().hex}")
        os.link(source, draft, follow_symlinks=False)
        os.rename(draft, target)
    except OSError as error:
        if error.errno not in _ONE_NAME_ONLY:
            raise
        return False
    return True


def _drop_old_name(source: Path, target: Path) -> None:
    try:
        os.unlink(source)
    except FileNotFoundError:
        # Somebody else has moved the file meanwhile. Who comes late leaves it where they put it.
        if os.lstat(target).st_nlink > 1:
            os.unlink(target)
        raise


def _drafts(folder: Path) -> list[Path]:
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    return [folder / name for name in names if name.startswith(DRAFT)]


def _is_older(draft: Path, limit: float) -> bool:
    """Look at the name itself, never at what a link leads to; a folder is nobody's draft."""
    try:
        found = os.lstat(draft)
    except FileNotFoundError:
        return False
    return found.st_mtime < limit and not stat.S_ISDIR(found.st_mode)


def _is_there(path: Path) -> bool:
    try:
        os.stat(path)
    except FileNotFoundError:
        return False
    return True


def _unlink_if_there(path: Path) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)
