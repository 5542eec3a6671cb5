"""Read the rows of a workbook (XLSX) as a stream, within bounds.

A workbook is a ZIP archive of XML. Of its parts only those that a table needs are unpacked, a piece at a time into one
parser, and whatever a small file could blow up is counted before it is kept. A library that builds the workbook first
would have used the memory before anyone could count.
"""

import io
import posixpath
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, TypeVar
from xml.parsers import expat

from django.utils.translation import gettext

from config.common.errors import TooLarge
from sensors.errors import BadFile
from sensors.services.workbook_parts import Catalogue, Formats, Reader, Relations, Row, Sheet, Strings

LARGEST_UNPACKED = 100 * 1_048_576
"""Bytes of all parts, both as the archive claims them and as they come."""
LARGEST_PART = 64 * 1_048_576
MOST_PARTS = 1000
DEEPEST = 64
LONGEST_TOKEN = 1_048_576
"""Bytes of one tag or comment: the parser looks at an unfinished one anew with every piece."""

_PIECE = 65_536
_ENTRY = b"PK\x01\x02"
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others may claim gigabytes to unpack a byte
_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    expat.ExpatError,
    NotImplementedError,  # a method or version of the archive that is not known
    RuntimeError,  # an encrypted part
    EOFError,
    LookupError,  # a part or a text that is referred to and not there
    ValueError,  # a number or an encoding that is none
    OverflowError,
)

ReaderT = TypeVar("ReaderT", bound=Reader)


def read_workbook(content: bytes) -> Iterator[Row]:
    """Yield the rows of the first sheet: the number of each, and its cells as text."""
    try:
        # Counted before the archive is opened, which makes an object of every entry.
        if content.count(_ENTRY) > MOST_PARTS:
            raise BadFile(gettext("Must have at most %(limit)d parts."), MOST_PARTS)
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            yield from _read_rows(_Archive(archive))
    except _UNREADABLE as error:
        raise BadFile(gettext("Cannot be read as XLSX.")) from error


def _read_rows(archive: "_Archive") -> Iterator[Row]:
    book = dict(_relations(archive, "").values())["officeDocument"]
    relations = _relations(archive, book)
    catalogue = archive.read(book, Catalogue())
    others = dict(relations.values())
    strings = archive.read(others["sharedStrings"], Strings()).found if "sharedStrings" in others else []
    formats = archive.read(others["styles"], Formats()).of_dates() if "styles" in others else set[str]()
    known = [relations[name] for name in catalogue.sheets if name in relations]
    worksheets = (path for kind, path in known if kind == "worksheet")
    sheet = Sheet(strings, formats, is_1904=catalogue.is_1904)
    for _ in archive.parse(next(worksheets, "none"), sheet):
        yield from sheet.take()


def _relations(archive: "_Archive", path: str) -> dict[str, tuple[str, str]]:
    """Return the parts that a part refers to: kind and path by name."""
    folder, name = posixpath.split(path)
    found = archive.read(posixpath.join(folder, "_rels", f"{name}.rels"), Relations()).found
    return {name: (kind, posixpath.join("/", folder, path).lstrip("/")) for name, kind, path in found}


class _Archive:
    """The parts of a workbook; the bytes unpacked of all of them are counted."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._left = LARGEST_UNPACKED
        if sum(part.file_size for part in archive.infolist()) > LARGEST_UNPACKED:
            raise _unpacks_to_more(LARGEST_UNPACKED)

    def read(self, path: str, into: ReaderT) -> ReaderT:
        for _ in self.parse(path, into):
            pass
        return into

    def parse(self, path: str, into: Reader) -> Iterator[None]:
        """Parse a part piece by piece; after each the caller may take what has been read."""
        part = self._archive.getinfo(path)
        if part.compress_type not in _METHODS:
            raise NotImplementedError(f"compressed by method {part.compress_type}")
        parser = _make_parser(into)
        with self._archive.open(part) as stream:
            for unpacked, piece in self._unpack(stream):
                parser.Parse(piece, False)
                if unpacked - parser.CurrentByteIndex > LONGEST_TOKEN:
                    raise BadFile(gettext("Must not have a tag of more than %(limit)d bytes."), LONGEST_TOKEN)
                yield
        parser.Parse(b"", True)
        yield

    def _unpack(self, stream: IO[bytes]) -> Iterator[tuple[int, bytes]]:
        unpacked = 0
        while piece := stream.read(_PIECE):
            unpacked += len(piece)
            self._left -= len(piece)
            if unpacked > LARGEST_PART:
                raise _unpacks_to_more(LARGEST_PART)
            if self._left < 0:
                raise _unpacks_to_more(LARGEST_UNPACKED)
            yield unpacked, piece


def _make_parser(into: Reader) -> "expat.XMLParserType":
    """Return a parser that passes every element to the reader, by its name without a namespace."""
    parser = expat.ParserCreate(namespace_separator="}")
    parser.buffer_text = True
    depth = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST:
            raise BadFile(gettext("Must not be nested deeper than %(limit)d levels."), DEEPEST)
        into.start(name[name.rfind("}") + 1 :], attributes)

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        into.end(name[name.rfind("}") + 1 :])

    def refuse_doctype(*declared: object) -> None:
        # Entities are declared nowhere else: without them a small file cannot grow to gigabytes.
        raise BadFile(gettext("Must not declare a document type."))

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, into.text
    parser.StartDoctypeDeclHandler = refuse_doctype
    return parser


def _unpacks_to_more(limit: int) -> TooLarge:
    words = gettext("Unpacks to more than %(limit)d bytes, the maximum. Nothing has been imported.")
    return TooLarge(limit, words)
