"""Read message files: checked before the first byte of an answer, then passed on in chunks without being parsed."""

import errno
import os
import stat
from collections.abc import Iterator, Sequence

from config.common.errors import ApplicationError, DiskFailed
from config.common.files import FULL
from messaging.files.envelope import head_of
from messaging.files.paths import path_of
from messaging.files.volume import check_writable
from messaging.models.message import Message

CHUNK = 65_536
_SCARCE = {errno.EMFILE, errno.ENFILE, errno.ENOMEM}
# No link is followed, no pipe waited for, and no child process inherits the descriptor.
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Unreadable(Exception):
    """The file is not that of this message, or is damaged; the text says why."""


class OutOfResources(ApplicationError):
    """Too many files are open right now. Repeat the call a little later."""

    status = 503
    retry_after = 5


def as_application_error(error: OSError) -> ApplicationError:
    """Return an error of the system as one of the API."""
    return OutOfResources() if error.errno in _SCARCE else DiskFailed()


def check_file(message: Message, *, whole: bool = False) -> None:
    """Compare the size and head of a file with its row; with `whole` read every byte as well.

    Raise `FileNotFoundError` for one that is not there, and `Unreadable` for one that is wrong. A read error counts
    against the file only if it comes twice while the disk takes writes: otherwise the disk as a whole has failed.
    """
    try:
        _compare(message, whole)
    except OSError as error:
        _raise_unless_read_error(error)
        try:
            _compare(message, whole)
        except OSError as again:
            _raise_unless_read_error(again)
            _check_disk()
            raise Unreadable("the disk cannot read it") from again


def read_chunks(message: Message) -> Iterator[bytes]:
    """Yield the bytes of a file; raise `Unreadable` where it is shorter than its row says."""
    descriptor = _open(message)
    try:
        left = message.size
        while left:
            chunk = os.read(descriptor, min(CHUNK, left))
            if not chunk:
                raise Unreadable("it ends too early")
            left -= len(chunk)
            yield chunk
    finally:
        os.close(descriptor)


def join_files(before: bytes, messages: Sequence[Message], after: bytes) -> Iterator[bytes]:
    """Yield `before`, the files separated by commas, and `after`, unparsed; small files share a chunk."""
    pieces, size = [before], len(before)
    for number, message in enumerate(messages):
        if number:
            pieces.append(b",")
        for chunk in read_chunks(message):
            pieces.append(chunk)
            size += len(chunk)
            if size >= CHUNK:
                yield b"".join(pieces)
                pieces, size = [], 0
    pieces.append(after)
    yield b"".join(pieces)


def _raise_unless_read_error(error: OSError) -> None:
    """Raise an error of the system that says nothing of the disk's health."""
    if error.errno == errno.ENOENT:
        raise error
    if error.errno != errno.EIO:
        raise as_application_error(error) from error


def _check_disk() -> None:
    try:
        check_writable()
    except OSError as error:
        if error.errno not in FULL:  # a full disk can be read
            raise as_application_error(error) from error


def _compare(message: Message, whole: bool) -> None:
    head = head_of(message)
    descriptor = _open(message)
    try:
        size = os.fstat(descriptor).st_size
        if size != message.size:
            raise Unreadable(f"it has {size} bytes instead of {message.size}")
        if os.read(descriptor, len(head)) != head:
            raise Unreadable("it begins otherwise than it was written")
        while whole and os.read(descriptor, CHUNK):
            pass
    finally:
        os.close(descriptor)


def _open(message: Message) -> int:
    """Open a file; a link in its place is not followed, a pipe not waited for."""
    try:
        descriptor = os.open(path_of(message), _FLAGS)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            raise Unreadable("it is not an ordinary file") from error
        if error.errno in (errno.ENOENT, errno.EIO):
            raise
        raise as_application_error(error) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Unreadable("it is not an ordinary file")
    return descriptor
