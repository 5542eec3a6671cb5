"""A follower of events of the demonstration's own, which cannot take one of them: an incident for the list."""

from collections.abc import Sequence

from django.db.models.functions import Now

from notifications.followers import Following, follow
from notifications.models import Event, Follower, Incident
from notifications.services.relay import ATTEMPTS, relay_once

NAME = "demo-report"
MOST_BATCHES = 20


def register_report() -> None:
    """Let the report read from now on; the first event that it meets is too much for it."""
    follow(REPORT)
    _read_all()
    for _ in range(ATTEMPTS):
        Follower.objects.filter(name=NAME).update(due_at=Now())
        _read_all()


def read_on() -> None:
    _read_all()


def _read_all() -> None:
    for _ in range(MOST_BATCHES):
        if not relay_once(REPORT):
            return


def _take(events: Sequence[Event]) -> None:
    if not Incident.objects.filter(follower=NAME).exists():
        raise ValueError("the report has no column for this event")


REPORT = Following(name=NAME, handle=_take)
