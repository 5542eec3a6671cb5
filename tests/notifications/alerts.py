"""Alerts and ladders for the tests."""

from datetime import timedelta
from typing import Any

from django.db.models import F

from notifications.models import Alert, Delivery, Rung
from notifications.services.alerts import raise_alert
from notifications.services.escalation import escalate_once

TITLE = "%(engine)s does not answer"


def set_ladder(*rungs: tuple[int, str, str]) -> None:
    """Replace the ladder by rungs of seconds, channel and addresses."""
    Rung.objects.all().delete()
    for after, channel, addresses in rungs:
        Rung.objects.create(after_seconds=after, channel=channel, addresses=addresses)


def two_rungs() -> None:
    set_ladder((0, "email", "ops@example.org"), (600, "sms", "+375291234567"))


def make_alert(kind: str = "engine.down", subject: str = "engine/redis", **detail: Any) -> Alert:
    return Alert.objects.get(pk=raise_alert(kind, subject, TITLE, {"engine": "Redis", **detail}))


def pass_time(seconds: int) -> None:
    """Let time pass for the alerts: leases go by the clock of the database, so their times move instead."""
    gone = timedelta(seconds=seconds)
    for name in ("first_at", "last_at", "due_at", "muted_until"):
        Alert.objects.filter(**{f"{name}__isnull": False}).update(**{name: F(name) - gone})


def escalate() -> None:
    while escalate_once():
        pass


def list_messages() -> list[tuple[str, str]]:
    """Return type and address of every message, in order."""
    return list(Delivery.objects.order_by("id").values_list("type", "endpoint__url"))


def reach_everybody() -> None:
    """Mark every pending message as delivered."""
    Delivery.objects.filter(status="pending").update(status="delivered", due_at=None)
