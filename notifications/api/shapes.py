"""The shapes of requests and answers about alerts, themes and sessions."""

from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from config.common.web.serializers import StrictSerializer, TimestampField
from notifications.alert_kinds import Severity
from notifications.models import Alert, RepeatSession, Theme
from notifications.models.session import OWN_THEMES_FROM
from notifications.sessions.themes import LONGEST_DELAY, LONGEST_TIMEOUT, MOST_BYTES, MOST_REPEATS

LONGEST_MUTE = 30 * 86_400
LARGEST = 2**63 - 1


class AlertQuery(serializers.Serializer[Any]):
    status = serializers.ChoiceField(Alert.Status.choices, required=False, help_text=_("by default every alert"))


class AlertSerializer(serializers.Serializer[Alert]):
    id = serializers.IntegerField()
    kind = serializers.CharField()
    severity = serializers.ChoiceField([each.code for each in Severity], source="severity_code")
    subject = serializers.CharField()
    title = serializers.CharField(source="words")
    detail = serializers.DictField()
    status = serializers.ChoiceField(Alert.Status.choices)
    count = serializers.IntegerField(help_text=_("how often it has been raised since it first was"))
    first_at = TimestampField()
    last_at = TimestampField()
    acknowledged_by = serializers.CharField()
    acknowledged_at = TimestampField(allow_null=True)
    resolved_by = serializers.CharField(help_text=_("empty if it closed automatically"))
    resolved_at = TimestampField(allow_null=True)
    resolution = serializers.CharField()
    muted_until = TimestampField(allow_null=True)
    correlation_id = serializers.CharField()


class AlertListSerializer(serializers.Serializer[Any]):
    results = AlertSerializer(many=True)
    next = serializers.CharField(allow_null=True)


class ResolveSerializer(StrictSerializer):
    note = serializers.CharField(required=False, allow_blank=True, max_length=200, help_text=_("what was done"))


class MuteSerializer(StrictSerializer):
    seconds = serializers.IntegerField(min_value=1, max_value=LONGEST_MUTE)


class SecondsField(serializers.FloatField):
    """A JSON number; the framework's own field would take the word “nan” for one."""

    def to_internal_value(self, data: Any) -> float:
        if isinstance(data, bool) or not isinstance(data, int | float) or abs(data) > LARGEST:
            self.fail("invalid")
        return super().to_internal_value(data)


class ThemeSerializer(StrictSerializer):
    theme = serializers.IntegerField(min_value=0, max_value=OWN_THEMES_FROM - 1)
    timeout = SecondsField(
        min_value=0.1, max_value=LONGEST_TIMEOUT, required=False, help_text=_("seconds; by default 60")
    )
    repeat_limit = serializers.IntegerField(
        min_value=1, max_value=MOST_REPEATS, required=False, help_text=_("by default 10")
    )
    length_limit = serializers.IntegerField(
        min_value=2, max_value=MOST_BYTES, required=False, help_text=_("bytes of the compact JSON; by default 65536")
    )
    delay = SecondsField(min_value=0, max_value=LONGEST_DELAY, required=False, help_text=_("seconds; by default 60"))
    jitter = SecondsField(min_value=0, max_value=LONGEST_DELAY, required=False, help_text=_("seconds; by default 0"))
    handler = serializers.CharField(
        max_length=80, required=False, allow_null=True, help_text=_("a name registered in the code")
    )
    url = serializers.CharField(max_length=500, required=False, allow_null=True)


class NewThemeSerializer(ThemeSerializer):
    secret = serializers.CharField(required=False, help_text=_("of a theme with a URL, once"))


class ThemeEditSerializer(ThemeSerializer):
    """As above; the number may be repeated, but not changed."""

    theme = serializers.IntegerField(required=False)

    def validate_theme(self, value: int) -> int:
        if value != self.context["theme"]:
            raise serializers.ValidationError(gettext("The number of a theme cannot be changed."))
        return value


class ThemeListSerializer(serializers.Serializer[Any]):
    results = ThemeSerializer(many=True)
    next = serializers.URLField(allow_null=True)


class _Records(serializers.ListField):
    """Any JSON, as it came."""

    child = serializers.JSONField(allow_null=True)

    def to_internal_value(self, data: Any) -> list[Any]:
        if not isinstance(data, list):
            self.fail("not_a_list", input_type=type(data).__name__)
        return data


class RecordsSerializer(StrictSerializer):
    change = serializers.IntegerField(min_value=0, max_value=LARGEST)
    records = _Records()


class RepeatTimeSerializer(StrictSerializer):
    repeat_at = TimestampField(required=False)
    delay = SecondsField(min_value=0, max_value=LONGEST_DELAY, required=False, help_text=_("seconds"))

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "repeat_at" in attrs and "delay" in attrs:
            raise serializers.ValidationError({"delay": [gettext("Specify either repeat_at or delay.")]})
        return attrs


class SaveSerializer(RepeatTimeSerializer):
    change = serializers.IntegerField(min_value=0, max_value=LARGEST)


class NewSessionSerializer(RepeatTimeSerializer):
    """With `repeat_at` or `delay` it is saved at once."""

    theme = serializers.IntegerField(min_value=0, max_value=2**31 - 1)
    records = _Records()


class ShiftSerializer(StrictSerializer):
    seconds = SecondsField(min_value=-LONGEST_DELAY, max_value=LONGEST_DELAY, help_text=_("later; below zero: earlier"))


class ThemeSecretSerializer(serializers.Serializer[Any]):
    secret = serializers.CharField()


class SessionSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    theme = serializers.IntegerField()
    change = serializers.IntegerField()
    status = serializers.ChoiceField(RepeatSession.Status.choices)
    records = _Records()
    repeats = serializers.IntegerField(help_text=_("failed attempts so far"))
    repeat_at = TimestampField(allow_null=True, help_text=_("of a saved session"))


class VerdictSerializer(serializers.Serializer[Any]):
    op = serializers.ChoiceField(["append", "rewrite", "delete", "finish"])
    status = serializers.ChoiceField(["acknowledged", "refused"])
    reason = serializers.CharField()
    session_code = serializers.IntegerField()


class SessionStepSerializer(serializers.Serializer[Any]):
    at = TimestampField()
    what = serializers.CharField()
    verdicts = VerdictSerializer(many=True)


class SessionWithTimelineSerializer(SessionSerializer):
    timeline = SessionStepSerializer(many=True)


class SessionListSerializer(serializers.Serializer[Any]):
    results = SessionWithTimelineSerializer(many=True)
    next = serializers.URLField(allow_null=True)


class SessionQuery(serializers.Serializer[Any]):
    theme = serializers.IntegerField(required=False, min_value=0, max_value=2**31 - 1)
    status = serializers.ChoiceField(RepeatSession.Status.choices, required=False)


def present_theme(theme: Theme) -> dict[str, Any]:
    return {
        "theme": theme.pk,
        "timeout": _seconds(theme.timeout),
        "repeat_limit": theme.repeat_limit,
        "length_limit": theme.length_limit,
        "delay": _seconds(theme.delay),
        "jitter": _seconds(theme.jitter),
        "handler": theme.handler or None,
        "url": theme.url or None,
    }


def _seconds(value: float) -> float | int:
    return int(value) if float(value).is_integer() else value
