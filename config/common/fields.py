"""Serializer fields of the contract, and the period that several calls take."""

from datetime import datetime
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from config.common.moments import cut_to_milliseconds, format_moment, parse_moment

FAULTS_NAMED = 20
"""How many faults of one kind an answer names: whoever sends a hundred thousand needs no list of them."""


class MomentField(serializers.DateTimeField):
    """A time with its offset; kept as UTC, cut to milliseconds."""

    default_error_messages = {
        "moment": _("Must be a time such as 2026-01-31T23:59:59.000Z, with its offset."),
    }

    def to_internal_value(self, value: Any) -> datetime:
        if isinstance(value, datetime) and value.tzinfo is not None:
            return cut_to_milliseconds(value)
        try:
            return parse_moment(value)
        except (TypeError, ValueError):
            self.fail("moment")

    def to_representation(self, value: Any) -> str:
        return format_moment(value)


class PeriodQuery(serializers.Serializer[Any]):
    to = MomentField(required=False, help_text=_("up to, not including"))

    def get_fields(self) -> Any:
        return {"from": MomentField(required=False), **super().get_fields()}  # a word that Python keeps for itself

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "from" in attrs and "to" in attrs and attrs["from"] > attrs["to"]:
            raise serializers.ValidationError({"to": [gettext("Must not be before `from`.")]})
        return attrs


class BoundedListField(serializers.ListField):
    """A list whose length is asked for before anything in it is looked at, and of whose faults only some are named."""

    def __init__(self, *, max_length: int, **options: Any) -> None:
        super().__init__(max_length=max_length, **options)
        self._most = max_length

    def run_child_validation(self, data: list[Any]) -> list[Any]:
        if len(data) > self._most:
            self.fail("max_length", max_length=self._most)
        result, faults = [], dict[int, Any]()
        for index, each in enumerate(data):
            try:
                result.append(self.child.run_validation(each))
            except serializers.ValidationError as error:
                faults[index] = error.detail
                if len(faults) == FAULTS_NAMED:
                    break
        if faults:
            raise serializers.ValidationError(faults)  # type: ignore[arg-type]  # by place, as the base class has it
        return result
