"""Sections of a state: records by id, and the log of what can be compensated."""

from collections.abc import Callable, ItemsView, Iterable
from typing import Any, Generic, TypeVar

from processes.workflows.engine.execution.records import CompensationEntry, sequence_number

Record = TypeVar("Record")


class Section(Generic[Record]):
    """The records of one kind by id, copied on the first write."""

    __slots__ = ("_is_copied", "owner_of", "records")

    def __init__(self, records: dict[str, Record] | None, owner_of: Callable[[Any], str | None]) -> None:
        self.records: dict[str, Record] = records if records is not None else {}
        self._is_copied = records is None
        self.owner_of = owner_of
        """Returns the id of the record that owns another one."""

    def __getitem__(self, key: str) -> Record:
        return self.records[key]

    def __contains__(self, key: str) -> bool:
        return key in self.records

    def __len__(self) -> int:
        return len(self.records)

    def get(self, key: str) -> Record | None:
        return self.records.get(key)

    def items(self) -> ItemsView[str, Record]:
        return self.records.items()

    def keys_in_order(self) -> list[str]:
        """Return the ids in the order of creation: a JSON store may have reordered the keys."""
        return sorted(self.records, key=sequence_number)

    def put(self, key: str, record: Record) -> None:
        self._copy()
        self.records[key] = record

    def pop(self, key: str) -> Record:
        self._copy()
        return self.records.pop(key)

    def _copy(self) -> None:
        # The initial state stays as it is: a command that fails later must leave nothing behind.
        if not self._is_copied:
            self.records = dict(self.records)
            self._is_copied = True


class CompensationLog:
    """The entries of completed activities by scope, in the order of their completion."""

    __slots__ = ("_by_scope", "_count", "_given", "_is_changed")

    def __init__(self, entries: list[CompensationEntry] | None) -> None:
        self._given = entries or []
        self._is_changed = False
        self._count = len(self._given)
        self._by_scope: dict[str, list[CompensationEntry]] = {}
        for entry in self._given:
            self._by_scope.setdefault(entry["scope"], []).append(entry)

    def __len__(self) -> int:
        return self._count

    def extend(self, entries: Iterable[CompensationEntry]) -> None:
        for entry in entries:
            self._by_scope.setdefault(entry["scope"], []).append(entry)
            self._count += 1
            self._is_changed = True

    def take(self, scope: str, element: str = "") -> list[CompensationEntry]:
        """Remove and return the entries of a scope, or those of one activity in it."""
        entries = self._by_scope.pop(scope, [])
        taken = [entry for entry in entries if element in ("", entry["element"])]
        if len(taken) < len(entries):
            self._by_scope[scope] = [entry for entry in entries if entry["element"] != element]
        if taken:
            self._is_changed = True
            self._count -= len(taken)
        return taken

    def entries(self) -> list[CompensationEntry]:
        if not self._is_changed:
            return self._given
        return [entry for entries in self._by_scope.values() for entry in entries]
