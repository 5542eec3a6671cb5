"""The entities that are coordinated, each declared once: fields, references, the order in which they apply.

Tables of the Writer and of the Readers, commit rows and rollback rows are made from the declaration (`tables.py`), and
so are the types of events: `{Entity}Main.Insert|Update|Delete`, numbered in the order of registration.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, partial
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


_text = models.CharField
_when = models.DateTimeField
DUMMY_ITEM = Entity(
    "DummyItem",
    (Column("correlation_id", models.UUIDField), Column("name", partial(_text, max_length=50))),
    path="dummy-items",
)
DUMMY_NODE = Entity(
    "DummyNode",
    (
        Column("correlation_id", models.UUIDField),
        Column("name", partial(_text, max_length=50)),
        Column("parent", models.BigIntegerField, refers="DummyNode", is_optional=True),
    ),
    path="dummy-nodes",
)
SENSOR = Entity(
    "Sensor",
    (
        Column("address", partial(_text, max_length=500)),
        Column("notes", models.TextField),
        Column("active", models.BooleanField),
        Column("heartbeat_timeout", models.IntegerField),
        Column("muted_until", _when, is_optional=True),
    ),
    key=partial(_text, max_length=16),
    path="sensors",
    order=1,
    is_undone=False,
)
CLIENT = Entity(
    "Client",
    (
        Column("name", partial(_text, max_length=200)),
        Column("url", partial(_text, max_length=2000)),
        Column("active", models.BooleanField),
        Column("paused", models.BooleanField),
        Column("muted_until", _when, is_optional=True),
    ),
    path="clients",
    order=1,
    is_undone=False,
)
SENSOR_LINK = Entity(
    "SensorLink",
    (
        Column("sensor", partial(_text, max_length=16), refers="Sensor"),
        Column("client", models.BigIntegerField, refers="Client"),
    ),
    key=partial(_text, max_length=40),
    order=2,
    is_undone=False,
)
ENTITIES = (DUMMY_ITEM, DUMMY_NODE, SENSOR, CLIENT, SENSOR_LINK)
"""In the order of registration: add at the end, for the numbers of the types follow from it."""
BY_NAME = {entity.name: entity for entity in ENTITIES}
BY_PATH = {entity.path: entity for entity in ENTITIES if entity.path}
IN_ORDER = sorted(ENTITIES, key=lambda entity: entity.order)


def type_number(entity: Entity, op: Op) -> int:
    return 3 * ENTITIES.index(entity) + list(Op).index(op) + 1


def type_names(entities: Iterable[Entity] = ENTITIES) -> dict[int, str]:
    return {type_number(entity, op): f"{entity.name}Main.{op.capitalize()}" for entity in entities for op in Op}
