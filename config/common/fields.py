"""Serializer fields of the contract, and the period that several calls take."""

from datetime import datetime
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from config.common.moments import cut_to_milliseconds, format_moment, parse_moment


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
