"""Serializers made for the OpenAPI document: of structs that encode themselves, and of pages of rows.

Where a msgspec struct reads or writes a body, a serializer beside it would only restate it. So it is made from the
struct, and says in addition what a struct does not know: texts, formats, choices.
"""

from collections.abc import Mapping
from typing import Any, cast

import msgspec
from msgspec import inspect
from rest_framework import serializers

from config.common.web.serializers import TimestampField

Field = serializers.Field[Any, Any, Any, Any]

_FIELDS: dict[type[inspect.Type], type[Field]] = {
    inspect.StrType: serializers.CharField,
    inspect.IntType: serializers.IntegerField,
    inspect.FloatType: serializers.FloatField,
    inspect.BoolType: serializers.BooleanField,
    inspect.UUIDType: serializers.UUIDField,
    inspect.DateTimeType: TimestampField,
    inspect.RawType: serializers.JSONField,
    inspect.AnyType: serializers.JSONField,
}


def serializer_for(
    struct: type[msgspec.Struct], name: str = "", /, **fields: Mapping[str, Any] | Field
) -> type[serializers.Serializer[Any]]:
    """Return a serializer that describes a struct, called `{name}Serializer`; without a name it has the struct's.

    `fields` say more of some of them: options such as `help_text` for the field that is made, or the whole field.
    Bounds of numbers are taken from the struct. Patterns and lengths are not: their dialect is Python's.
    """
    described = cast(inspect.StructType, inspect.type_info(struct))
    # As they are written, those of a base class first: the struct itself has keyword-only fields last.
    names = [name for base in reversed(struct.__mro__) for name in vars(base).get("__annotations__", {})]
    places = {name: place for place, name in enumerate(names)}
    made: dict[str, Any] = {}
    for field in sorted(described.fields, key=lambda field: places[field.name]):
        more = fields.get(field.encode_name, {})
        made[field.encode_name] = more if isinstance(more, serializers.Field) else _make_field(field, more)
    unknown = fields.keys() - made.keys()
    if unknown:
        raise TypeError(f"{struct.__name__} has no field {', '.join(sorted(unknown))}")
    return type(f"{name or struct.__name__}Serializer", (serializers.Serializer,), made)


def page_serializer(row: type[serializers.Serializer[Any]], name: str = "") -> type[serializers.Serializer[Any]]:
    """Return the shape of a page: its rows, and the address of the next one. `XSerializer` makes `XListSerializer`."""
    name = name or f"{row.__name__.removesuffix('Serializer')}List"
    page = {"results": row(many=True), "next": serializers.URLField(allow_null=True)}
    return type(f"{name}Serializer", (serializers.Serializer,), page)


def _make_field(field: inspect.Field, more: Mapping[str, Any]) -> Field:
    kind, options = field.type, dict[str, Any]()
    if isinstance(kind, inspect.UnionType):
        kind, *others = [each for each in kind.types if not isinstance(each, inspect.NoneType)]
        if others:
            raise TypeError(f"{field.name} may be of several types: give the whole field")
        # In a body a default stands for a field that is left out; an answer names it, and says null.
        options = {"allow_null": True} if field.required else {}
    if not field.required:
        options["required"] = False
    return _field_of(kind, {**options, **more})


def _field_of(kind: inspect.Type, options: Mapping[str, Any]) -> Field:
    match kind:
        case inspect.ListType():
            if isinstance(kind.item_type, inspect.StructType):
                return serializer_for(kind.item_type.cls)(many=True, **options)
            return serializers.ListField(child=_field_of(kind.item_type, {}), **options)
        case inspect.StructType():
            return serializer_for(kind.cls)(**options)
        case inspect.LiteralType():
            return serializers.ChoiceField(list(kind.values), **options)
        case inspect.IntType() | inspect.FloatType():
            options = {"min_value": kind.ge, "max_value": kind.le, **options}
    return _FIELDS[type(kind)](**options)
