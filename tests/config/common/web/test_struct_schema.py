from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
import pytest
from rest_framework import serializers

from config.common.web.serializers import TimestampField
from config.common.web.struct_schema import page_serializer, serializer_for


class Base(msgspec.Struct, kw_only=True):
    version: int


class Entry(msgspec.Struct):
    id: UUID


class Body(Base):
    name: str
    at: str
    size: Annotated[int, msgspec.Meta(ge=1, le=9)]
    kind: Literal["a", "b"]
    error: str | None
    payload: msgspec.Raw
    entries: list[Entry]
    tags: list[str] | None = None
    active: bool = True


def fields_of(serializer: type[serializers.Serializer[Any]]) -> dict[str, Any]:
    return dict(serializer().fields)


class TestSerializerFor:
    def test_has_the_fields_of_the_struct_those_of_its_base_first(self) -> None:
        assert list(fields_of(serializer_for(Body)))[:3] == ["version", "name", "at"]

    @pytest.mark.parametrize(
        ("name", "kind"),
        [
            ("name", serializers.CharField),
            ("size", serializers.IntegerField),
            ("kind", serializers.ChoiceField),
            ("payload", serializers.JSONField),
            ("entries", serializers.ListSerializer),
            ("tags", serializers.ListField),
            ("active", serializers.BooleanField),
        ],
    )
    def test_takes_the_kind_of_a_field_from_its_type(self, name: str, kind: type) -> None:
        assert type(fields_of(serializer_for(Body))[name]) is kind

    def test_takes_the_bounds_of_a_number(self) -> None:
        size = fields_of(serializer_for(Body))["size"]
        assert (size.min_value, size.max_value) == (1, 9)

    def test_a_field_with_a_default_may_be_left_out_and_one_without_may_be_null(self) -> None:
        made = fields_of(serializer_for(Body))
        assert (made["tags"].required, made["tags"].allow_null) == (False, False)
        assert (made["error"].required, made["error"].allow_null) == (True, True)

    def test_takes_options_and_whole_fields_beside_the_struct(self) -> None:
        made = fields_of(serializer_for(Body, "Other", name={"help_text": "as it is called"}, at=TimestampField()))
        assert made["name"].help_text == "as it is called"
        assert isinstance(made["at"], TimestampField)

    def test_is_named_after_the_struct_or_as_it_is_told(self) -> None:
        assert serializer_for(Body).__name__ == "BodySerializer"
        assert serializer_for(Body, "Other").__name__ == "OtherSerializer"

    def test_refuses_a_field_that_the_struct_does_not_have(self) -> None:
        with pytest.raises(TypeError, match="Body has no field nothing"):
            serializer_for(Body, nothing={})


class TestPageSerializer:
    def test_holds_the_rows_and_the_next_address(self) -> None:
        page = page_serializer(serializer_for(Body))
        assert page.__name__ == "BodyListSerializer"
        assert list(fields_of(page)) == ["results", "next"]
