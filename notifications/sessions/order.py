"""When a session is repeated: its time, its place among those saved for the same time, and who is told of it."""

from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.db.models import BigIntegerField, Func
from django.db.models.functions import Now
from django.utils import timezone

from config.common.background.ring import ring

SESSIONS = "sessions"
LOOK_SECONDS = 60.0
"""The scheduler looks at least so often: what is due later than that need not be announced."""


class _NextSave(Func):
    template = "nextval('notifications_save_number')"
    output_field = BigIntegerField()


def next_save_number() -> Any:
    """Return the next place in the order of saving: an expression, or a number that the write lock guards."""
    if connection.vendor == "postgresql":
        return _NextSave()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE notifications_save_number SET last = last + 1 RETURNING last")
        return cursor.fetchone()[0]


def database_time_in(seconds: float) -> Any:
    """Return the database's time after so many seconds."""
    return Now() + timedelta(seconds=seconds)


def wake_scheduler(*, seconds: float) -> None:
    """Wake the scheduler for a session that is due in so many seconds, unless it will look before that anyway."""
    if seconds <= LOOK_SECONDS:
        ring(SESSIONS)


def wake_scheduler_at(moment: datetime) -> None:
    wake_scheduler(seconds=(moment - timezone.now()).total_seconds())
