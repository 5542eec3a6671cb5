"""What the serializers of every app share: strict fields, times, bounded lists, the period that several calls take."""

from collections.abc import Collection
from datetime import datetime
from functools import cached_property
from heapq import nsmallest
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from config.common.times import format_time, parse_time, truncate_to_milliseconds

FAULTS_NAMED = 20
"""How many faults of one kind an answer names: whoever sends a hundred thousand needs no list of them."""


class TimestampField(serializers.DateTimeField):
    """A time with its offset; kept as UTC, cut to milliseconds."""

    default_error_messages = {
        "moment": _("Must be a time such as 2026-01-31T23:59:59.000Z, with its offset."),
    }

    def to_internal_value(self, value: Any) -> datetime:
        if isinstance(value, datetime) and value.tzinfo is not None:
            return truncate_to_milliseconds(value)
        try:
            return parse_time(value)
        except (TypeError, ValueError):
            self.fail("moment")

    def to_representation(self, value: Any) -> str:
        return format_time(value)


class PeriodQuery(serializers.Serializer[Any]):
    to = TimestampField(required=False, help_text=_("up to, not including"))

    def get_fields(self) -> Any:
        return {"from": TimestampField(required=False), **super().get_fields()}  # a word that Python keeps for itself

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


class StrictSerializer(serializers.Serializer[Any]):
    """Names a field that cannot be written, instead of passing over a slip of the pen.

    What can only be read may be repeated as it is now, so that an answer can be sent back: a view that changes
    something gives `context["present"]`, a function that returns what is there as a mapping.
    """

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict):
            self._refuse_unknown(data.keys() - self.fields.keys())
            rules = {name: self._rule(name, data[name]) for name in sorted(data)}
            faults = {name: [rule] for name, rule in rules.items() if rule}
            if faults:
                raise serializers.ValidationError(faults)
        return super().to_internal_value(data)

    def _refuse_unknown(self, names: Collection[str]) -> None:
        """Name the first of them; a body may hold a hundred thousand."""
        if names:
            rule = gettext("Unknown field.")
            raise serializers.ValidationError({name: [rule] for name in nsmallest(FAULTS_NAMED, names)})

    def _rule(self, name: str, sent: Any) -> str:
        """Return the rule that a field breaks by being sent at all, or nothing."""
        if not self.fields[name].read_only or self._is_unchanged(name, sent):
            return ""
        return gettext("This field is read-only.")

    def _is_unchanged(self, name: str, sent: Any) -> bool:
        if name not in self._present:
            return False
        now = self._present[name]
        if sent is None or now is None:
            return sent is now
        field = self.fields[name]
        try:  # a time can be written in several ways
            return bool(field.to_internal_value(sent) == field.to_internal_value(now))
        except serializers.ValidationError:
            return False

    @cached_property
    def _present(self) -> dict[str, Any]:
        read = self.context.get("present") if self.root is self else None
        return dict(read()) if read else {}
