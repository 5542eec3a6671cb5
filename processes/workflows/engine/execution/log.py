from collections.abc import Iterable

from processes.workflows.engine.execution.records import CompensationEntry


class CompensationLog:
    """What is done and can be undone, by the scope it was done in, in the order in which it was done."""

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
        """Take out what can be undone in a scope, or what of it is one activity's."""
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
