from collections.abc import Callable, ItemsView
from typing import Any, Generic, TypeVar

from processes.workflows.engine.execution.records import sequence_number

Record = TypeVar("Record")


class Section(Generic[Record]):
    """One section of the state; copied when it is first written to."""

    __slots__ = ("_is_copied", "owner_of", "records")

    def __init__(self, records: dict[str, Record] | None, owner_of: Callable[[Any], str | None]) -> None:
        self.records: dict[str, Record] = records if records is not None else {}
        self._is_copied = records is None
        self.owner_of = owner_of
        """Gives the id of what a record belongs to."""

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

    def in_order(self) -> list[str]:
        """Give the ids in the order of creation, whatever order JSON left them in."""
        return sorted(self.records, key=sequence_number)

    def put(self, key: str, record: Record) -> None:
        self._copy()
        self.records[key] = record

    def pop(self, key: str) -> Record:
        self._copy()
        return self.records.pop(key)

    def _copy(self) -> None:
        if not self._is_copied:
            self.records = dict(self.records)
            self._is_copied = True
