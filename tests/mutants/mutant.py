"""A row of the table: a mechanism, what is put in its place, and the tests that must notice."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class Engine(StrEnum):
    """What the tests of a row run on."""

    SQLITE = "sqlite"
    POSTGRESQL = "postgresql"
    """With the other servers beside it: tests that take the broker or ClickHouse run here too."""


@dataclass(frozen=True)
class Change:
    """A text of one file, which stands there exactly once, and what is put in its place."""

    path: str
    text: str
    instead: str

    def apply_to(self, source: str) -> str:
        """Return the file without the mechanism; raise `RowOutdated` if its text is not there exactly once."""
        found = source.count(self.text)
        if found != 1:
            raise RowOutdated(f"{self.path}: {found} times, not once: {self.text.strip().splitlines()[0]!r}")
        return source.replace(self.text, self.instead)


class RowOutdated(Exception):
    """The code has moved on: the row must be made to fit it again."""


@dataclass(frozen=True)
class Mutant:
    name: str
    """The mechanism, in few words."""
    why: str
    """What the mechanism is there for."""
    taken_away: str
    """What the changes do, in few words."""
    changes: tuple[Change, ...]
    noticed_by: tuple[str, ...]
    """Tests as pytest names them: each of them must fail."""
    engine: Engine = Engine.SQLITE
    kinds: tuple[str, ...] = ()
    """Exceptions that count beside a failed assertion, by the names of their classes."""
    guard: tuple[Change, ...] = ()
    """Where another mechanism stands behind this one: what takes that away too. Alone the mutant then survives."""
    guard_name: str = ""
    proves: tuple[str, ...] = ()
    """Marks of mechanisms (`mechanisms.py`) that it takes away by another text than where they stand."""

    @property
    def needs_own_tables(self) -> bool:
        """Whether the tables themselves are changed, so that no template of an earlier run will do."""
        return any("/migrations/" in change.path for change in (*self.changes, *self.guard))


def mutant(
    name: str,
    *,
    why: str,
    taken_away: str,
    path: str = "",
    text: str = "",
    instead: str = "",
    changes: Iterable[Change] = (),
    noticed_by: str | Iterable[str],
    engine: Engine = Engine.SQLITE,
    kinds: Iterable[str] = (),
    guard: Iterable[Change] = (),
    guard_name: str = "",
    proves: str | Iterable[str] = (),
) -> Mutant:
    """Return a row; most change one text of one file and are noticed by one test."""
    all_changes = (*changes, *([Change(path, text, instead)] if path else ()))
    tests = (noticed_by,) if isinstance(noticed_by, str) else tuple(noticed_by)
    marks = (proves,) if isinstance(proves, str) else tuple(proves)
    return Mutant(name, why, taken_away, all_changes, tests, engine, tuple(kinds), tuple(guard), guard_name, marks)
