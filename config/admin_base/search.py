"""The one search of the admin: whatever a person types, each app finds what of its own it names.

Every source looks up exact ids and beginnings by an index; what must look through a table does so for a bounded time.
"""

import sys
import time
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, TypeVar
from uuid import UUID

from django.db import connection
from django.db.models import Q, QuerySet
from django.db.models.functions import Upper
from django.utils.functional import Promise

from config.common.database.time_limit import read_within
from config.common.text import clean_text

LONGEST = 200
MOST = 8
"""Hits of one source: who wants more opens the list."""
LOOK_SECONDS = 0.1
"""For so long at most one source looks through its table: what it leaves is for the others."""
SEARCH_SECONDS = 0.15
"""For so long one search looks through tables: its sources ask one after the other."""
FEWEST_LETTERS = 3
"""A part of a name or an address is looked for from so many letters on: fewer are in every trigram's list."""
LARGEST_NUMBER = 2**63 - 1

T = TypeVar("T")
Row = TypeVar("Row", bound=tuple[Any, ...])


@dataclass(frozen=True)
class SearchText:
    """What was typed, and what it may stand for."""

    text: str

    @property
    def number(self) -> int | None:
        """The number of a row."""
        digits = self.text.removeprefix("#")
        if not (digits.isascii() and digits.isdecimal() and len(digits) < 20):
            return None
        return int(digits) if 0 < int(digits) <= LARGEST_NUMBER else None

    @property
    def spellings(self) -> list[str]:
        """As it was typed, and in capital and small letters, for ids whose index knows the difference."""
        return list(dict.fromkeys((self.text, self.text.upper(), self.text.lower(), self.text.capitalize())))

    def is_id(self, pk: str) -> bool:
        """Return whether it names this id, whatever the case."""
        return pk.upper() == self.text.upper()

    @property
    def uuid_range(self) -> tuple[UUID, UUID] | None:
        """The first and the last UUID that begins so, of eight hexadecimal digits or more."""
        digits = self.text.replace("-", "").lower()
        if not 8 <= len(digits) <= 32 or not set(digits) <= set("0123456789abcdef"):
            return None
        return UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f"))

    @property
    def is_part(self) -> bool:
        return len(self.text) >= FEWEST_LETTERS


@dataclass(frozen=True)
class SearchHit:
    title: str
    description: str
    page: str
    is_exact: bool = False
    """It is what was typed, not only like it."""


@dataclass(frozen=True)
class Found:
    hits: Sequence[SearchHit] = ()
    is_whole: bool = True
    """Whether there was time to look at everything."""


class Rank(IntEnum):
    """Which groups stand before which."""

    TRACE = 0
    REGISTRY = 1
    WORK = 2
    NOTIFICATIONS = 3
    RECORDS = 4
    PAGES = 5


@dataclass(frozen=True)
class SearchSource:
    """What one app can find; it is asked for those who may see such rows."""

    title: Promise
    icon: str
    permission: str
    rank: Rank
    find: Callable[[SearchText, int], Found]


@dataclass(frozen=True)
class SearchGroup:
    title: str
    icon: str
    rank: Rank
    found: Found = field(default_factory=Found)

    @property
    def is_exact(self) -> bool:
        return any(hit.is_exact for hit in self.found.hits)


_sources: list[SearchSource] = []
_look_until: ContextVar[float | None] = ContextVar("look_until", default=None)
"""When the search that is going on stops looking through tables, by the monotonic clock."""


def register_search_source(source: SearchSource) -> None:
    _sources.append(source)


def search(text: str, *, may: Callable[[str], bool], most: int = MOST) -> list[SearchGroup]:
    """Return what the text names, group by group: those with an exact hit first."""
    asked = SearchText(clean_text(text, LONGEST).strip())
    if not asked.text:
        return []
    allowed = [source for source in _sources if may(source.permission)]
    token = _look_until.set(time.monotonic() + SEARCH_SECONDS)
    try:
        groups = [SearchGroup(str(each.title), each.icon, each.rank, each.find(asked, most)) for each in allowed]
    finally:
        _look_until.reset(token)
    return sort_groups(groups)


def sort_groups(groups: Sequence[SearchGroup]) -> list[SearchGroup]:
    """Return the groups that have something to say, in the order in which they are shown."""
    telling = [group for group in groups if group.found.hits or not group.found.is_whole]
    return sorted(telling, key=lambda group: (not group.is_exact, group.rank))


def first_rows(rows: "QuerySet[Any, T]", most: int) -> tuple[list[T], bool]:
    """Return the first rows of a condition on a table that people fill: it is small enough to be looked through."""
    return list(rows.order_by()[:most]), True


def look_through(rows: "QuerySet[Any, T]", most: int) -> tuple[list[T], bool]:
    """Return the first rows of a condition that no index of order answers, as many as its time allows."""
    until = _look_until.get()
    seconds = LOOK_SECONDS if until is None else min(LOOK_SECONDS, until - time.monotonic())
    if seconds <= 0:
        return [], False
    # Unordered: the first ones found will do, and sorting would have to find all.
    return read_within(rows.order_by()[:most], seconds)


def contains(column: str, text: str) -> Q:
    """Return the condition of rows whose column has this part, whatever its case."""
    if connection.vendor == "postgresql":
        return Q((f"{column}__icontains", text))  # answered by the trigram index where there is one
    # SQLite's LIKE knows the case of ASCII alone.
    spelled = {text, text.lower(), text.upper(), text.title(), text.capitalize()}
    return Q(*((f"{column}__contains", each) for each in sorted(spelled)), _connector=Q.OR)


def find_by_id(rows: "QuerySet[Any, Row]", asked: SearchText, most: int) -> list[Row]:
    """Return the rows, given with their key first, whose key begins so, whatever the case.

    The one of this very key stands first, then those that differ from it by case alone. Keys are ASCII; a large table
    has the index of `config.common.database.prefixes`.
    """
    by_key, typed = rows.alias(capitals=Upper("pk")).order_by(), asked.text.upper()
    # Unordered: the index of beginnings has no order of the language's, and there may be very many.
    rows_by_key = {row[0]: row for row in by_key.filter(_begins_so("capitals", typed))[:most]}
    if len(rows_by_key) == most:  # it may be among those that were left out
        rows_by_key |= {row[0]: row for row in by_key.filter(capitals=typed)[:most]}

    def place(row: Row) -> tuple[bool, bool, str]:
        return row[0] != asked.text, row[0].upper() != typed, row[0]

    return sorted(rows_by_key.values(), key=place)[:most]


def _begins_so(column: str, text: str) -> Q:
    if connection.vendor == "postgresql":
        return Q((f"{column}__startswith", text))
    # SQLite answers no LIKE by its index; it compares by code points, so that beginnings are ranges.
    return Q((f"{column}__gte", text), (f"{column}__lt", f"{text}{chr(sys.maxunicode)}"))
