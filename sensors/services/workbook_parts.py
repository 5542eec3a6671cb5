"""Readers of the parts of a workbook that make a table: each gets the elements of one part and keeps what is needed."""

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta
from typing import TypeAlias

from django.utils.translation import gettext

from sensors.errors import BadFile

MOST_COLUMNS = 50
MOST_CELLS = 2_000_000
"""Empty ones too: a workbook names every cell that has a colour."""
MOST_STRINGS = 1_000_000
LONGEST_CELL = 32_767
"""Characters, as spreadsheets have it."""
MOST_TEXT = 32 * 1_048_576
"""Characters of all cells together: a text that is kept once may stand in every one of them."""

Row: TypeAlias = tuple[int, list[str]]
"""A line's place in the file, and its cells."""
Attributes: TypeAlias = dict[str, str]

_PLACE = re.compile(r"([A-Z]{1,3})[0-9]*")
_WHOLE = re.compile(r"-?[0-9]{1,15}")
_DATE_FORMATS = frozenset(map(str, (*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59))))
_LITERALS = re.compile(r'"[^"]*"|\[[^\]]*\]|\\.|_.')
_DATE_LETTERS = re.compile("[dmyhs]", re.IGNORECASE)
_EPOCH, _EPOCH_1904 = datetime(1899, 12, 30), datetime(1904, 1, 1)  # noqa: DTZ001  (a sheet has no time zone)


class Reader:
    """Gets the elements of a part and the text between them, in order."""

    def start(self, name: str, attributes: Attributes) -> None:
        """Begin an element."""

    def end(self, name: str) -> None:
        """End an element."""

    def text(self, text: str) -> None:
        """Take text as it comes; a long one comes in pieces."""


class Relations(Reader):
    """Collects the parts that a part refers to: name, kind and path."""

    def __init__(self) -> None:
        self.found: list[tuple[str, str, str]] = []

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "Relationship" and attributes.get("TargetMode") != "External":
            kind = attributes["Type"].rpartition("/")[2]
            self.found.append((attributes["Id"], kind, attributes["Target"]))


class Catalogue(Reader):
    """Collects the names of the sheets' parts, in order, and how dates are counted."""

    def __init__(self) -> None:
        self.sheets: list[str] = []
        self.is_1904 = False

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "sheet":
            self.sheets += [value for key, value in attributes.items() if key.endswith("relationships}id")]
        elif name == "workbookPr":
            self.is_1904 = attributes.get("date1904") in ("1", "true")


class Formats(Reader):
    """Collects the formats of cells that show a number as a date."""

    def __init__(self) -> None:
        self._codes: dict[str, str] = {}
        self._used: list[str] = []
        self._is_inside = False

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "numFmt":
            self._codes[attributes["numFmtId"]] = attributes["formatCode"][:255]
        elif name == "cellXfs":
            self._is_inside = True
        elif name == "xf" and self._is_inside:
            self._used.append(attributes.get("numFmtId", "0"))

    def end(self, name: str) -> None:
        if name == "cellXfs":
            self._is_inside = False

    def of_dates(self) -> set[str]:
        dates = _DATE_FORMATS.union(key for key, code in self._codes.items() if self._shows_date(code))
        return {str(place) for place, key in enumerate(self._used) if key in dates}

    @staticmethod
    def _shows_date(code: str) -> bool:
        return _DATE_LETTERS.search(_LITERALS.sub("", code)) is not None


class _Text(Reader):
    """Collects the text of elements; phonetic hints (`rPh`) are not part of it."""

    holders: AbstractSet[str] = frozenset({"t"})

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._is_open = self._is_aside = False

    def start(self, name: str, attributes: Attributes) -> None:
        if name in self.holders:
            self._is_open = not self._is_aside
        elif name == "rPh":
            self._is_aside = True

    def end(self, name: str) -> None:
        if name in self.holders:
            self._is_open = False
        elif name == "rPh":
            self._is_aside = False

    def text(self, text: str) -> None:
        if not self._is_open:
            return
        self._length += len(text)
        if self._length > LONGEST_CELL:
            raise BadFile(gettext("Must not have a cell of more than %(limit)d characters."), LONGEST_CELL)
        self._pieces.append(text)

    def _take(self) -> str:
        text = "".join(self._pieces)
        self._pieces.clear()
        self._length = 0
        return text


class Strings(_Text):
    """Collects the shared texts that cells refer to by their place."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._total = 0

    def end(self, name: str) -> None:
        super().end(name)
        if name != "si":
            return
        self.found.append(self._take())
        self._total += len(self.found[-1])
        if len(self.found) > MOST_STRINGS:
            raise BadFile(gettext("Must have at most %(limit)d shared texts."), MOST_STRINGS)
        if self._total > MOST_TEXT:
            raise _too_much_text()


class Sheet(_Text):
    """Collects the rows, to be taken as they are complete."""

    holders = frozenset({"t", "v"})

    def __init__(self, strings: Sequence[str], date_formats: AbstractSet[str], *, is_1904: bool) -> None:
        super().__init__()
        self._strings, self._date_formats = strings, date_formats
        self._epoch = _EPOCH_1904 if is_1904 else _EPOCH
        self._done: list[Row] = []
        self._number = self._column = self._width = self._cells = self._total = 0
        self._row: list[str] = []
        self._kind = self._format = ""

    def take(self) -> Iterator[Row]:
        """Return the rows that have been read since the last time."""
        done, self._done = self._done, []
        return iter(done)

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "c":
            self._start_cell(attributes)
        elif name == "row":
            self._number = _whole(attributes["r"]) if "r" in attributes else self._number + 1
            self._row, self._column = [], 0
        else:
            super().start(name, attributes)

    def end(self, name: str) -> None:
        if name == "c":
            self._end_cell()
        elif name == "row":
            # A cell left out of a workbook is empty, and clears the value; a CSV line that ends early changes nothing.
            self._width = self._width or len(self._row)
            self._row += [""] * (self._width - len(self._row))
            self._done.append((self._number, self._row))
        else:
            super().end(name)

    def _start_cell(self, attributes: Attributes) -> None:
        self._cells += 1
        if self._cells > MOST_CELLS:
            raise BadFile(gettext("Must have at most %(limit)d cells."), MOST_CELLS)
        place = _PLACE.fullmatch(attributes.get("r", ""))
        self._column = self._column + 1 if place is None else _column(place[1])
        self._kind, self._format = attributes.get("t", "n"), attributes.get("s", "")

    def _end_cell(self) -> None:
        text = self._read_cell(self._take())
        if not text:
            return
        if self._column > MOST_COLUMNS:
            raise BadFile(gettext("Must have at most %(limit)d columns."), MOST_COLUMNS)
        self._total += len(text)
        if self._total > MOST_TEXT:
            raise _too_much_text()
        self._row += [""] * (self._column - len(self._row))
        self._row[self._column - 1] = text

    def _read_cell(self, text: str) -> str:
        """Return a cell as CSV would have it."""
        if self._kind == "s" and text:
            return self._strings[_whole(text)].strip()
        if self._kind == "b":
            return {"1": "true", "0": "false"}.get(text, text)
        if self._kind != "n" or not text:
            return text.strip()
        if self._format in self._date_formats:
            return str(self._epoch + timedelta(seconds=round(float(text) * 86_400)))
        return text if _WHOLE.fullmatch(text) else _number(float(text))


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number


def _whole(text: str) -> int:
    if not _WHOLE.fullmatch(text) or text.startswith("-"):
        raise ValueError(f"not a number of a row or a text: {text[:20]}")
    return int(text)


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() else str(value)


def _too_much_text() -> BadFile:
    return BadFile(gettext("Must have at most %(limit)d characters in all cells together."), MOST_TEXT)
