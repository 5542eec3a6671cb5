"""Variables of which the large ones are still the text they are kept as, until somebody asks for their value.

They are a map like any other. Its encoder writes the texts as they stand, and whoever takes the state apart again finds
that a variable nobody has changed is the part that it was.
"""

from collections.abc import ItemsView, Iterator, Mapping, ValuesView
from typing import Any, NamedTuple

import msgspec


class StoredVariable(NamedTuple):
    """A variable of which parts, or the whole, are kept apart."""

    stored: Any
    """What stands in its place."""
    value: Any
    """Its text as `Raw`, or the value that was read from it."""
    parts: Mapping[str, str]
    """The bodies that it is kept in."""


class LazyVariables(dict[str, Any]):
    def __init__(self, values: Mapping[str, Any], kept: Mapping[str, StoredVariable]) -> None:
        super().__init__(values)
        self._kept = dict(kept)

    def find_kept(self, name: str) -> StoredVariable | None:
        """Return how a variable is kept, unless it has been given another value since."""
        kept = self._kept.get(name)
        return kept if kept is not None and kept.value is super().get(name) else None

    def __getitem__(self, name: str) -> Any:
        value = super().__getitem__(name)
        if type(value) is not msgspec.Raw:
            return value
        read = msgspec.json.decode(value)
        self._kept[name] = self._kept[name]._replace(value=read)
        super().__setitem__(name, read)
        return read

    def __iter__(self) -> Iterator[str]:
        """Iterate in Python: by this `dict(…)` and `{**…}` know that they must ask for each value."""
        return super().__iter__()

    def get(self, name: str, default: Any = None) -> Any:
        if name not in self:
            return default
        return self[name]

    def items(self) -> ItemsView[str, Any]:  # type: ignore[override]
        return self._read().items()

    def values(self) -> ValuesView[Any]:  # type: ignore[override]
        return self._read().values()

    def copy(self) -> "LazyVariables":
        """Copy the map and nothing in it; what is text stays text."""
        same = LazyVariables({}, {})
        dict.update(same, {name: super(LazyVariables, self).__getitem__(name) for name in self})
        same._kept = dict(self._kept)
        return same

    def __eq__(self, other: object) -> bool:
        return self._read() == (other._read() if isinstance(other, LazyVariables) else other)

    __hash__ = None

    def _read(self) -> dict[str, Any]:
        return {name: self[name] for name in self}
