"""What the script of the live page says of statuses and changes, in the language of the reader."""

import json
from functools import cache

from django.utils.translation import get_language, gettext, pgettext

from notifications.alert_kinds import Severity
from processes.coordination.admin.presentation import STATUSES, format_type
from processes.coordination.schema.entities import type_names
from processes.workflows.models.instance import Status


def live_words() -> dict[str, str]:
    """Return the words of each section as JSON."""
    return {section: json.dumps(words) for section, words in words_by_section().items()}


def words_by_section() -> dict[str, dict[str, str]]:
    return _words_in(get_language())


@cache  # a page asks for the words of each of its rows
def _words_in(language: str | None) -> dict[str, dict[str, str]]:
    return {
        "inbox": {
            "alert": gettext("alert"),
            "doubt": gettext("in doubt"),
            "failed": pgettext("exchange", "failed"),
            "incident": gettext("incident"),
            "dead": gettext("not delivered"),
            "session": gettext("sessions"),
            "compensation": pgettext("change set", "compensation failed"),
            "task": gettext("task"),
            **{severity.code: str(severity.label) for severity in Severity},
        },
        "sensors": {
            "opened": pgettext("door change", "opened"),
            "closed": pgettext("door change", "closed"),
            "connection_lost": gettext("connection lost"),
            "connection_restored": gettext("connection restored"),
            "loss_withdrawn": gettext("loss withdrawn"),
            "left_open": pgettext("door change", "left open"),
        },
        "deliveries": {
            "open": gettext("paused: no response"),
            "half_open": gettext("retrying now"),
            "failing": gettext("failing"),
            "paused": gettext("paused by staff"),
            "inactive": pgettext("receiver", "disabled"),
            "ok": pgettext("receiver", "responding"),
        },
        "workflows": {status: str(label) for status, label in Status.choices},
        "changes": {
            **{status.name.lower(): str(words) for status, words in STATUSES.items()},
            **{f"type-{number}": format_type(number) for number in type_names()},
        },
        "runtime": {"ok": gettext("running"), "silent": gettext("silent")},
    }
