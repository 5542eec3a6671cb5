"""Read message files: checked before the first byte of an answer, then passed on in pieces without being parsed."""

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
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Unreadable(Exception):
    """The file can never be read as this message; the text says why."""


class OutOfResources(ApplicationError):
    """Too many files are open at this moment. Repeat the call a little later."""

    status = 503
    retry_after = 5


def as_application_error(error: OSError) -> ApplicationError:
    """Return a failure of the system as callers know it."""
    return OutOfResources() if error.errno in _SCARCE else DiskFailed()


def check_file(message: Message, *, whole: bool = False) -> None:
    """Compare size and head with the row, or read every byte. A file that is not there raises `FileNotFoundError`.

    A disk that fails once may be well again: it is asked twice before the message is given up, and only one that takes
    writes is believed to have lost a single file: otherwise the disk as a whole has failed.
    """
    try:
        _compare(message, whole)
    except OSError as error:
        _raise_unless_the_disk_fails(error)
        try:
            _compare(message, whole)
        except OSError as again:
            _raise_unless_the_disk_fails(again)
            _see_that_the_disk_works()
            raise Unreadable("the disk cannot read it") from again


def read_chunks(message: Message) -> Iterator[bytes]:
    """Yield the bytes of the file, which must still be as long as its row says."""
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
    """Yield `before`, the files with commas between them, and `after`; small files share a piece."""
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


def _raise_unless_the_disk_fails(error: OSError) -> None:
    if error.errno == errno.ENOENT:
        raise error
    if error.errno != errno.EIO:
        raise as_application_error(error) from error


def _see_that_the_disk_works() -> None:
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
    """Open the file; a link or a pipe in its place is not followed or waited for."""
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
