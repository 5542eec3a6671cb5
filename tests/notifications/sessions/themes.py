"""Themes, sessions and handlers as the tests of sessions make them."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.db.models import F

from config.common.encryption import encrypt
from notifications.models import RepeatSession, Theme
from notifications.sessions.claims import claim_due
from notifications.sessions.handlers import SessionView
from notifications.sessions.operations import Operation
from notifications.sessions.outcomes import settle_lapsed_once
from notifications.sessions.repeat import Repeat, settle_now

SECRET = "whsec_" + "A" * 43 + "="


def theme(number: int = 7, **values: Any) -> Theme:
    """Make a theme; its handler is `test` unless it has a URL."""
    if "url" in values:
        values.setdefault("secret", encrypt(SECRET.encode()))
    else:
        values.setdefault("handler", "test")
    return Theme.objects.create(number=number, **values)


def pass_time(seconds: float) -> None:
    """Let so many seconds pass for every session."""
    RepeatSession.objects.exclude(due_at=None).update(due_at=F("due_at") - timedelta(seconds=seconds))


def repeat_due(limit: int = 100) -> list[int]:
    """Do in this thread what the scheduler and its workers do; return the ids in the order of their repeats."""
    settle_lapsed_once()
    claims = claim_due(limit)
    for claim in claims:
        Repeat(claim).run(settle_now)
    return [claim.row.pk for claim in claims]


class Scripted:
    """A handler that sends prepared operations; what is an exception it raises."""

    def __init__(self, *script: Operation | Exception | None) -> None:
        self.script = list(script)
        self.cancelled = 0

    def __call__(self, session: SessionView) -> "Scripted":
        self.session = session
        return self

    def next_operation(self) -> Operation | None:
        step = self.script.pop(0) if self.script else None
        if isinstance(step, Exception):
            raise step
        return step

    def cancel(self) -> None:
        self.cancelled += 1


Register = Callable[[Any], None]
