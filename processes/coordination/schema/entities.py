"""The entities that are coordinated, each declared once, here or by a plugin.

Tables of the Writer and of the Readers, commit rows and rollback rows are made from the declaration (`tables.py`), and
so are the types of events: `{Entity}Main.Insert|Update|Delete`, numbered in the order of registration.
"""

from collections.abc import Iterable
from functools import partial

from django.db import models

from processes.coordination.declaration import Column, Entity, Key, Op, Values
from processes.coordination.schema.plugin_entities import plugin_entities

__all__ = [
    "BY_NAME",
    "BY_PATH",
    "CLIENT",
    "DUMMY_ITEM",
    "DUMMY_NODE",
    "ENTITIES",
    "IN_ORDER",
    "SENSOR",
    "SENSOR_LINK",
    "Column",
    "Entity",
    "Key",
    "Op",
    "Values",
    "type_names",
    "type_number",
]

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
        Column("open_limit", models.IntegerField, is_optional=True),
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
_OWN = (DUMMY_ITEM, DUMMY_NODE, SENSOR, CLIENT, SENSOR_LINK)
ENTITIES = (*_OWN, *plugin_entities(_OWN))
"""In the order of registration, those of plugins last: the numbers of the types follow from it."""
BY_NAME = {entity.name: entity for entity in ENTITIES}
BY_PATH = {entity.path: entity for entity in ENTITIES if entity.path}
IN_ORDER = sorted(ENTITIES, key=lambda entity: entity.order)


def type_number(entity: Entity, op: Op) -> int:
    return 3 * ENTITIES.index(entity) + list(Op).index(op) + 1


def type_names(entities: Iterable[Entity] = ENTITIES) -> dict[int, str]:
    return {type_number(entity, op): f"{entity.name}Main.{op.capitalize()}" for entity in entities for op in Op}
