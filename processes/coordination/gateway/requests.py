"""Read the bodies of the Writer's calls: the fields of each entity, and sets of changes."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from django.utils.translation import gettext
from rest_framework import serializers

from config.common.errors import Invalid
from config.common.web.serializers import BoundedListField, StrictSerializer
from processes.coordination.errors import EntityNotFound, RowNotFound
from processes.coordination.gateway.rows import writer_rows
from processes.coordination.models.writer import TABLES
from processes.coordination.schema.entities import (
    BY_PATH,
    CLIENT,
    DUMMY_ITEM,
    DUMMY_NODE,
    ENTITIES,
    SENSOR,
    Column,
    Entity,
    Op,
)
from processes.coordination.writer.change_sets import RequestedChange
from sensors.api.shapes import ClientSerializer, SensorEditSerializer, SensorSerializer

MOST_CHANGES = 10_000
LARGEST_ID = 2**63 - 1


class DummyItemSerializer(StrictSerializer):
    id = serializers.IntegerField(read_only=True)
    name = serializers.CharField(max_length=50, trim_whitespace=False)
    correlation_id = serializers.UUIDField(required=False)


class DummyNodeSerializer(DummyItemSerializer):
    def get_fields(self) -> Any:
        parent = serializers.IntegerField(min_value=1, max_value=LARGEST_ID, required=False, allow_null=True)
        return {**super().get_fields(), "parent": parent}  # a name that serializers keep for themselves


class RowChangeSerializer(StrictSerializer):
    entity = serializers.ChoiceField(sorted(BY_PATH))
    op = serializers.ChoiceField([op.value for op in Op])
    id = serializers.JSONField(required=False)

    def get_fields(self) -> Any:
        return {**super().get_fields(), "fields": serializers.DictField(required=False)}  # likewise


class ChangesSerializer(StrictSerializer):
    changes = BoundedListField(child=RowChangeSerializer(), min_length=1, max_length=MOST_CHANGES)


def make_serializer(entity: Entity) -> type[StrictSerializer]:
    """Return the serializer of a plugin's entity, made from its table; the Writer checks the references."""
    table = TABLES[entity.name]
    own = [column.name for column in entity.columns if not column.refers]
    form = type("Meta", (), {"model": table, "fields": ["id", *own]})
    made = type(f"{entity.name}Base", (StrictSerializer, serializers.ModelSerializer), {"Meta": form})
    referring = {column.name: _reference(table, column) for column in entity.references}

    class PluginSerializer(made):  # type: ignore[misc, valid-type]
        def get_fields(self) -> Any:
            return {**super().get_fields(), **deepcopy(referring)}  # "parent" is a name that serializers keep

    return PluginSerializer


def _reference(table: Any, column: Column) -> "serializers.Field[Any, Any, Any, Any]":
    needed: dict[str, Any] = {"required": not column.is_optional, "allow_null": column.is_optional}
    if table._meta.get_field(column.name).target_field.get_internal_type() == "CharField":
        return serializers.CharField(max_length=50, **needed)
    return serializers.IntegerField(min_value=1, max_value=LARGEST_ID, **needed)


SERIALIZERS: Mapping[str, type[StrictSerializer]] = {
    DUMMY_ITEM.name: DummyItemSerializer,
    DUMMY_NODE.name: DummyNodeSerializer,
    SENSOR.name: SensorSerializer,
    CLIENT.name: ClientSerializer,
} | {entity.name: make_serializer(entity) for entity in ENTITIES if entity.app}


def get_entity(path: str) -> Entity:
    if path not in BY_PATH:
        raise EntityNotFound(entities=sorted(BY_PATH))
    return BY_PATH[path]


def read_id(entity: Entity, text: str) -> Any:
    """Return the id of a row that an address names."""
    if entity is SENSOR:
        return text
    if not text.isascii() or not text.isdigit() or not 0 < int(text[:20]) <= LARGEST_ID:
        raise RowNotFound
    return int(text)


def read_inserts(entity: Entity, body: Any) -> list[RequestedChange]:
    """Return the changes of a creating call: its body has the fields of one row, or a list of such."""
    if not isinstance(body, list):
        return [_insert(entity, body, path="")]
    if not 1 <= len(body) <= MOST_CHANGES:
        raise Invalid({"body": [gettext("Must have 1 to %(count)s rows.") % {"count": MOST_CHANGES}]})
    return [_insert(entity, fields, path=str(place)) for place, fields in enumerate(body)]


def read_update(entity: Entity, id: Any, body: Any, *, path: str = "") -> RequestedChange:
    known = {"id": id, "present": lambda: writer_rows(entity).filter(pk=id).first() or {}}
    serializer = SensorEditSerializer if entity is SENSOR else SERIALIZERS[entity.name]
    asked = serializer(data=body, partial=True, context=known)
    values = {name: value for name, value in _read(asked, path).items() if name != "id"}
    return RequestedChange(entity, Op.UPDATE, id, values, path)


def read_changes(body: Any) -> list[RequestedChange]:
    asked = ChangesSerializer(data=body)
    asked.is_valid(raise_exception=True)
    changes = [_read_change(each, f"changes.{place}") for place, each in enumerate(asked.validated_data["changes"])]
    if len({each.entity.is_undone for each in changes}) > 1:
        rule = gettext(
            "Changes of sensors and clients are never undone, so they cannot share a change set with other changes."
        )
        raise Invalid({"changes": [rule]})
    return changes


def _read_change(asked: dict[str, Any], path: str) -> RequestedChange:
    entity, op, fields = BY_PATH[asked["entity"]], Op(asked["op"]), asked.get("fields") or {}
    if op == Op.INSERT:
        return _read_insert(entity, asked, fields, path)
    id = _read_row_id(entity, asked.get("id"), path)
    if op == Op.UPDATE:
        return read_update(entity, id, fields, path=path)
    if fields:
        raise Invalid({f"{path}.fields": [gettext("A deleted row has none.")]})
    return RequestedChange(entity, op, id, {}, path)


def _read_insert(entity: Entity, asked: dict[str, Any], fields: dict[str, Any], path: str) -> RequestedChange:
    if asked.get("id") is None:
        return _insert(entity, fields, path=path)
    if entity is not SENSOR:
        raise Invalid({f"{path}.id": [gettext("Is assigned by the Writer: leave it out.")]})
    return _insert(entity, {"id": asked["id"], **fields}, path=path)


def _read_row_id(entity: Entity, value: Any, path: str) -> Any:
    if entity is SENSOR and isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= LARGEST_ID and entity is not SENSOR:
        return value
    raise Invalid({f"{path}.id": [gettext("Must be the id of a row.")]})


def _insert(entity: Entity, fields: Any, *, path: str) -> RequestedChange:
    return RequestedChange(entity, Op.INSERT, None, _read(SERIALIZERS[entity.name](data=fields), path), path)


def _read(asked: StrictSerializer, path: str) -> dict[str, Any]:
    if not asked.is_valid():
        # Named from the call's own top: a list names the place of each of its rows.
        raise serializers.ValidationError({path: asked.errors} if path else asked.errors)
    return dict(asked.validated_data)
