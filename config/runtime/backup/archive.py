"""The file of a backup: a tar of members, ended by a manifest without which it is not whole.

The manifest has one digest over the names, sizes and contents of all members in their order: a member that was cut,
changed, left out or put in is noticed before anything is restored.
"""

import gzip
import hashlib
import io
import os
import stat
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any

import msgspec

from config.common.files import sync_folder

FORMAT = 1
MANIFEST = "manifest.json"
CHUNK = 1 << 20
MOST_MANIFEST = 1 << 20
"""Bytes; whoever says more in it has not made it here."""


class ArchiveDamaged(Exception):
    """The file is no backup, or not a whole one."""


class Manifest(msgspec.Struct, kw_only=True):
    format: int = FORMAT
    version: str
    """Of the product."""
    made_at: str
    database: str
    """`postgresql` or `sqlite`."""
    migrations: list[str]
    field_keys: list[str]
    """Fingerprints of the keys under which stored secrets can be read."""
    members: int = 0
    digest: str = ""


class ArchiveWriter:
    """Writes the members of a backup, each once."""

    def __init__(self, file: IO[bytes]) -> None:
        # Level 1: most of the gain for a third of the time.
        self._tar = tarfile.open(fileobj=file, mode="w:gz", compresslevel=1, format=tarfile.PAX_FORMAT)  # noqa: SIM115
        self._digest = hashlib.sha256()
        self.members = 0

    def add_bytes(self, name: str, content: bytes) -> None:
        self._add(name, len(content), io.BytesIO(content))

    def add_file(self, name: str, path: Path) -> bool:
        """Add a file as it is now; return False, and add nothing, if it is gone or is something else than a file."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            if not stat.S_ISREG(os.lstat(path).st_mode):
                return False
            raise
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            os.close(descriptor)
            return False
        with os.fdopen(descriptor, "rb") as file:
            self._add(name, found.st_size, file)
        return True

    def finish(self, manifest: Manifest) -> None:
        manifest.members, manifest.digest = self.members, self._digest.hexdigest()
        content = msgspec.json.format(msgspec.json.encode(manifest))
        entry = tarfile.TarInfo(MANIFEST)
        entry.size = len(content)
        self._tar.addfile(entry, io.BytesIO(content))
        self._tar.close()

    def _add(self, name: str, size: int, file: IO[bytes]) -> None:
        entry = tarfile.TarInfo(name)
        entry.size, entry.mode = size, 0o600
        measured = _Digested(file)
        self._tar.addfile(entry, measured)
        _forget_members(self._tar)
        _note(self._digest, name, size, measured.digest.digest())
        self.members += 1


class _Digested:
    """A file whose bytes are counted into a digest as they are read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        chunk = self._file.read(size)
        self.digest.update(chunk)
        return chunk


@contextmanager
def written(path: Path) -> Iterator[ArchiveWriter]:
    """Write a backup under its final name, whole or not at all; only its owner can read it."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield ArchiveWriter(file)
            file.flush()
            os.fsync(file.fileno())
        os.rename(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def check(path: Path) -> Manifest:
    """Read all of a backup; return its manifest, or raise `ArchiveDamaged`."""
    with _errors_as_damage():
        return _check(path)


def _check(path: Path) -> Manifest:
    manifest: Manifest | None = None
    digest, members = hashlib.sha256(), 0
    for name, size, file in read_members(path, with_manifest=True):
        if manifest is not None:
            raise ArchiveDamaged("there is something behind its manifest")
        if name == MANIFEST:
            manifest = _decode(file.read(MOST_MANIFEST))
            continue
        content = hashlib.sha256()
        while chunk := file.read(CHUNK):
            content.update(chunk)
        _note(digest, name, size, content.digest())
        members += 1
    if manifest is None:
        raise ArchiveDamaged("its end is missing")
    if (manifest.members, manifest.digest) != (members, digest.hexdigest()):
        raise ArchiveDamaged("its content is not what was written")
    return manifest


def read_members(path: Path, *, with_manifest: bool = False) -> Iterator[tuple[str, int, IO[bytes]]]:
    """Yield name, size and content of the members of a file that was checked, in their order."""
    with tarfile.open(path, mode="r|gz") as tar:
        while (entry := tar.next()) is not None:
            _forget_members(tar)
            file = tar.extractfile(entry)
            parts = PurePosixPath(entry.name).parts
            if file is None or not parts or entry.name.startswith("/") or ".." in parts:
                raise ArchiveDamaged(f"it has a member that no backup has: {entry.name[:200]!r}")
            if with_manifest or entry.name != MANIFEST:
                yield entry.name, entry.size, file


@contextmanager
def _errors_as_damage() -> Iterator[None]:
    """Raise `ArchiveDamaged` for whatever cannot be unpacked."""
    try:
        yield
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ArchiveDamaged(str(error) or type(error).__name__) from error


def _forget_members(tar: tarfile.TarFile) -> None:
    """Drop the list that a tar keeps of its members: a million messages would fill the memory."""
    tar.members.clear()  # type: ignore[attr-defined]


def _decode(content: bytes) -> Manifest:
    try:
        manifest = msgspec.json.decode(content, type=Manifest)
    except msgspec.MsgspecError as error:
        raise ArchiveDamaged(f"its manifest cannot be read: {error}") from error
    if manifest.format != FORMAT:
        raise ArchiveDamaged(f"its format {manifest.format} is not known to this version")
    return manifest


def _note(digest: Any, name: str, size: int, content: bytes) -> None:
    digest.update(f"{name}\n{size}\n".encode() + content)
