"""Tables of sensors as files: CSV and XLSX are read into lines of text, and cells made safe for spreadsheets.

Read by `csv` and by `workbook.py`: an import library would build a model object and a report row for every line,
and the rules here (all or nothing, every bad line named, bounded in rows, bytes and unpacked size) would still be ours.
"""

import csv
import io
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TextIO

from django.utils.translation import gettext

from config.common.errors import TooLarge
from config.common.web.tables import protect as protect
from config.common.web.tables import reveal
from config.common.web.tables import write_csv as write_csv
from sensors.errors import BadFile
from sensors.services.workbook import read_workbook
from sensors.services.workbook_parts import Row

COLUMNS = ("id", "address", "notes", "active", "heartbeat_timeout", "clients", "open_limit")
PASSED_OVER = ("line", "reason")
"""Columns of the table of refused lines, which may be mended and imported with them."""
LARGEST_FILE = 10 * 1_048_576
MOST_ROWS = 100_000
LONGEST_LINE = 1_048_576
"""Characters of a line of CSV, so that a file without line ends is not read whole."""

_ARCHIVE = b"PK\x03\x04"


@dataclass(frozen=True)
class Line:
    number: int
    """Where it stands in the file; the header is line 1."""
    cells: dict[str, str]
    has_more: bool
    """Whether there are cells beyond the header."""

    @property
    def id(self) -> str:
        """What stands in the column of ids; nothing where the line ends before it."""
        return self.cells.get("id", "")


def read_sheet(content: bytes) -> list[Line]:
    """Return the lines of a CSV or XLSX file; raise `BadFile` with the reason where it cannot be read at all."""
    if len(content) > LARGEST_FILE:
        raise TooLarge(LARGEST_FILE)
    rows = read_workbook(content) if content.startswith(_ARCHIVE) else _read_csv(io.BytesIO(content))
    lines: list[Line] = []
    for line in _read_lines(_limited(rows)):
        if len(lines) == MOST_ROWS:
            raise _too_many_rows()
        lines.append(line)
    return lines


def stream_sheet(stream: io.BufferedReader) -> Iterator[Line]:
    """Yield the lines of a CSV file of any size, or of a workbook within the limits of `read_sheet`.

    The file is read once, from where it stands: a pipe will do.
    """
    if stream.peek(len(_ARCHIVE)).startswith(_ARCHIVE):
        yield from read_sheet(stream.read(LARGEST_FILE + 1))
    else:
        yield from _read_lines(_read_csv(stream))


def _read_lines(rows: Iterable[Row]) -> Iterator[Line]:
    """Yield the rows behind the header, their cells by column; empty rows are left out."""
    filled = ((number, cells) for number, cells in rows if any(cells))
    header = next(filled, None)
    if header is None:
        raise BadFile(gettext("Must have a first line that names the columns."))
    columns = _read_header(header[1])
    for number, cells in filled:
        named = {name: reveal(cell).strip() for name, cell in zip(columns, cells, strict=False) if name in COLUMNS}
        yield Line(number, named, has_more=any(cells[len(columns) :]))


def _limited(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield rows up to a limit; empty ones count, since a workbook may claim a million of them before its one cell."""
    for place, row in enumerate(rows):
        if place > 2 * MOST_ROWS:
            raise _too_many_rows()
        yield row


def _read_header(cells: list[str]) -> list[str]:
    while cells and not cells[-1]:
        cells = cells[:-1]
    columns = [cell.lower() for cell in cells]
    unknown = sorted({name for name in columns if name and name not in (*COLUMNS, *PASSED_OVER)})
    if unknown:
        known = ", ".join(COLUMNS)
        raise BadFile(
            gettext("Unknown column “%(name)s”; known columns: %(known)s.") % {"name": unknown[0][:100], "known": known}
        )
    if "id" not in columns or len(set(filter(None, columns))) < len(list(filter(None, columns))):
        raise BadFile(gettext("Must name the column “id” in its first line, and no column twice."))
    return columns


def _read_csv(stream: io.BufferedReader | io.BytesIO) -> Iterator[Row]:
    """Yield the rows of a CSV file; no more than one of them is in memory."""
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
    try:
        yield from _parse_csv(_text_lines(text))
    except UnicodeDecodeError as error:
        raise BadFile(gettext("Must be CSV in UTF-8, or XLSX.")) from error
    finally:
        if not stream.closed:
            text.detach()  # whoever opened the stream closes it


def _text_lines(text: TextIO) -> Iterator[str]:
    for number in itertools.count(1):
        line = text.readline(LONGEST_LINE + 1)
        if len(line) > LONGEST_LINE:
            words = gettext("Line %(line)d has more than %(limit)d characters.")
            raise BadFile(words % {"line": number, "limit": LONGEST_LINE})
        if not line:
            return
        yield line


def _parse_csv(lines: Iterator[str]) -> Iterator[Row]:
    header, blank = "", 0
    for header in lines:
        if header.strip():
            break
        blank += 1
    # Spreadsheets of half the world write CSV with semicolons: the header shows it.
    delimiter = ";" if ";" in header and "," not in header else ","
    reader = csv.reader(
        itertools.chain(itertools.repeat("\n", blank), [header], lines), delimiter=delimiter, strict=True
    )
    while True:
        number = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            words = gettext("Line %(line)d is not valid CSV: %(error)s.") % {"line": number, "error": error}
            raise BadFile(words) from error
        yield number, [cell.strip() for cell in cells]


def _too_many_rows() -> BadFile:
    words = gettext("Must have at most %(limit)d rows; the command import_sensors takes a CSV file of any size.")
    return BadFile(words, MOST_ROWS)
