"""What the kinds of things in the change log are called, and their values."""

from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

KINDS: dict[str, Promise] = {
    "account": _("account"),
    "alert": _("alert"),
    "client": _("client"),
    "database": _("database"),
    "delivery": _("delivery"),
    "device": _("device"),
    "enterprise": _("enterprise"),
    "group": _("group"),
    "key": _("access key"),
    "message": _("message"),
    "process": _("exchange process"),
    "rung": _("escalation step"),
    "sensor": _("sensor"),
    "session": _("repeat session"),
    "subsystem": _("subsystem"),
    "task": _("task"),
    "theme": _("theme"),
    "workflow": _("workflow"),
    "workflow_scenarios": _("scenarios"),
}

VALUES: dict[str, Promise] = {
    "active": _("active"),
    "address": _("address"),
    "addresses": _("also to"),
    "after_seconds": _("escalate after, seconds"),
    "assignee": _("assignee"),
    "channel": _("channel"),
    "clients": _("clients"),
    "deadline": _("due"),
    "delay": _("delay, seconds"),
    "email": _("e-mail"),
    "ended_at": _("revoked"),
    "enterprise": _("enterprise"),
    "expires_at": _("expires"),
    "groups": _("groups"),
    "handler": _("handler"),
    "heartbeat_timeout": _("heartbeat timeout, seconds"),
    "is_active": _("active"),
    "is_staff": _("may sign in"),
    "is_superuser": _("superuser"),
    "jitter": _("jitter, seconds"),
    "kind": _("kind"),
    "length_limit": _("length limit, bytes"),
    "muted_until": _("muted until"),
    "name": _("name"),
    "notes": _("notes"),
    "open_limit": _("open limit, seconds"),
    "paused": _("paused"),
    "permissions": _("permissions"),
    "prefix": _("begins with"),
    "priority": _("priority"),
    "repeat_limit": _("attempt limit"),
    "resolution": _("resolution"),
    "revision": _("revision"),
    "rotated_at": _("secret replaced"),
    "scenarios": _("scenarios"),
    "scopes": _("permissions"),
    "status": _("status"),
    "subject": _("belongs to"),
    "subsystem": _("subsystem"),
    "timeout": _("timeout, seconds"),
    "to_administrator": _("to the administrator"),
    "to_superusers": _("to every active superuser"),
    "url": _("URL"),
    "username": _("user name"),
}


def kind_title(kind: str) -> str:
    """Return a kind in words; one that nobody has named stands for itself."""
    return str(KINDS.get(kind, kind))


def value_title(name: str) -> str:
    """Return what a value is called on pages; one that nobody has named stands for itself."""
    return str(VALUES.get(name, name))


def say_value(value: Any) -> str:
    """Return a value of the change log as people write it."""
    if value is None or value == "" or value == []:
        return "–"
    if isinstance(value, bool):
        return gettext("yes") if value else gettext("no")
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
