"""Message files for people to read: also one that is still to be moved, or is not as it was written."""

import copy
import os
import re
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain

import msgspec
from django.utils.translation import gettext

from config.common.errors import NotFound
from messaging.files.paths import path_of
from messaging.files.placement import FileForeign, FileMissing, is_file
from messaging.files.reader import Unreadable, read_chunks
from messaging.files.volume import check_volume
from messaging.models.message import Message

MOST_SHOWN = 65_536
MOST_INDENTED = 4 * MOST_SHOWN
# Browsers drop control characters; the Unicode pictures of them show that they are there.
_PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"} | {127: 0x2421}

_ESCAPE = re.compile(r"\\(?:u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w|u\w{4}|.)")


class FileUnavailable(NotFound):
    """The file of this message cannot be read."""


@dataclass(frozen=True)
class Content:
    text: str
    size: int
    is_whole: bool
    is_formatted: bool


def open_file(message: Message) -> tuple[int, Iterator[bytes]]:
    """Return the size of the file and its bytes; raise `FileUnavailable` before the first of them."""
    with _translate_errors():
        found = _find_in_folders(message)
        chunks = read_chunks(found)
        first = next(chunks, b"")
    return found.size, chain([first], chunks)


def read_content(message: Message) -> Content:
    """Return the beginning of the file as text: indented if it is small and JSON, else as it is."""
    size, chunks = open_file(message)
    beginning = b""
    with _translate_errors():
        while len(beginning) < MOST_SHOWN and (chunk := next(chunks, b"")):
            beginning += chunk
    beginning = beginning[:MOST_SHOWN]
    is_whole = len(beginning) == size
    indented = _indent(beginning) if is_whole else None
    text = (indented or beginning).decode(errors="replace")
    readable = text if indented is None else _ESCAPE.sub(_unescape, text)
    return Content(readable.translate(_PICTURES), size, is_whole, is_formatted=indented is not None)


def _find_in_folders(message: Message) -> Message:
    """Return a copy of the row that agrees with the disk: while a move is pending the file may lie in either folder."""
    found = copy.copy(message)
    for folder in filter(None, (message.folder, message.moving_from)):
        path = path_of(message, folder)
        if is_file(path):
            found.folder, found.size = folder, os.stat(path, follow_symlinks=False).st_size
            return found
    check_volume()
    raise FileMissing


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except (FileMissing, FileNotFoundError) as error:
        reason = gettext("It is not in its folder: it may be on its way to another one, or somebody has removed it.")
        raise FileUnavailable(reason=reason) from error
    except FileForeign as error:
        raise FileUnavailable(reason=gettext("Something other than a file has this name.")) from error
    except (Unreadable, OSError) as error:
        raise FileUnavailable(reason=str(error)) from error


def _indent(text: bytes) -> bytes | None:
    try:
        indented = msgspec.json.format(text, indent=2)
    except (msgspec.MsgspecError, RecursionError):
        return None
    return indented if len(indented) <= MOST_INDENTED else None


def _unescape(escape: re.Match[str]) -> str:
    """Return an escaped letter as itself; quotes, backslashes and invisible characters stay escaped."""
    if not escape[0].startswith("\\u"):
        return escape[0]
    letter: str = msgspec.json.decode(f'"{escape[0]}"')
    is_shown = unicodedata.category(letter)[0] not in "CZ" and letter not in '"\\'
    return letter if is_shown else escape[0]
