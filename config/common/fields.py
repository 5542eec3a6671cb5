"""Serializer fields of the contract."""

from datetime import datetime
from typing import Any

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
