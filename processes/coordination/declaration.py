"""What an entity is: its fields, its references, the order in which it applies.

A module of its own: plugins declare theirs with it, and are read by `entities.py`, which must not be half loaded then.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, TypeAlias

from django.db import models

Values: TypeAlias = dict[str, Any]
"""The fields of a row by their names, as the models have them."""
Key: TypeAlias = tuple[str, str]
"""An entity's name and the id of one of its rows."""
MakeField: TypeAlias = Callable[..., "models.Field[Any, Any]"]


class Op(StrEnum):
    INSERT = "insert"
    UPDATE = "update"
    DELETE = "delete"


@dataclass(frozen=True)
class Column:
    name: str
    make: MakeField
    refers: str = ""
    """The entity whose row it names."""
    is_optional: bool = False

    @property
    def attribute(self) -> str:
        return f"{self.name}_id" if self.refers else self.name

    @property
    def type(self) -> str:
        return self.make(null=True).get_internal_type()


@dataclass(frozen=True)
class Entity:
    name: str
    columns: tuple[Column, ...]
    key: MakeField = models.BigIntegerField
    path: str = ""
    """As addresses call it; without one it has none."""
    order: int = 0
    """Those that others refer to apply first, and are deleted last."""
    is_undone: bool = True
    """A reader's refusal undoes the change on the Writer; else it raises an alert, and the event waits."""
    app: str = ""
    """The app of the plugin that it comes from, which has its tables and migrations; none: it is the product's own."""

    @cached_property
    def parent(self) -> Column | None:
        """The column that names another row of the same entity: the rows are a tree."""
        return next((column for column in self.columns if column.refers == self.name), None)

    @cached_property
    def references(self) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.refers)

    @cached_property
    def _fields(self) -> "dict[str, models.Field[Any, Any]]":
        return {column.name: column.make(null=True) for column in self.columns}

    @cached_property
    def _key_field(self) -> "models.Field[Any, Any]":
        return self.key()

    @property
    def key_type(self) -> str:
        return self._key_field.get_internal_type()

    def read_key(self, value: Any) -> Any:
        return self._key_field.to_python(value)

    def read_values(self, values: Values | None) -> Values | None:
        """Make values of the models from those of JSON."""
        if values is None:
            return None
        return {name: field.to_python(values.get(name)) for name, field in self._fields.items()}

    def touched(self, id: Any, *sides: Values | None) -> set[Key]:
        """Return what a change of a row depends on: the row, the rows it refers to, and for moves in a tree each other.

        Two moves of different rows may only together avoid a circle, so all of one tree keep their order.
        """
        keys: set[Key] = {(self.name, str(id))}
        for values in sides:
            named = [(column.refers, (values or {}).get(column.name)) for column in self.references]
            keys |= {(entity, str(other)) for entity, other in named if other is not None}
        if self.parent is not None and all(sides) and len({side[self.parent.name] for side in sides if side}) > 1:
            keys.add((self.name, "move"))
        return keys
