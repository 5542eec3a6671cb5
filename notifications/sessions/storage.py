"""How a session is stored: its records, its place in the order of saving, its timeline."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
from django.db import connection
from django.db.models import BigIntegerField, Func
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext

from config.common.background.ring import ring
from config.common.database.sql import in_number_array
from config.common.errors import Invalid
from config.common.text import clean_text, clean_values
from notifications.errors import SessionTooLong
from notifications.models import RepeatSession, SessionRecord, SessionStep, Theme

SESSIONS = "sessions"
LOOK_SECONDS = 60.0
"""The scheduler looks at least this often: it need not be woken for what is due later."""
LONGEST_TIMELINE = 100
LONGEST_DETAIL = 300


def encode_records(records: Sequence[Any]) -> list[str]:
    """Return each record as compact JSON; raise `Invalid` for what JSON cannot hold."""
    if isinstance(records, str | bytes | dict):
        raise Invalid({"records": [gettext("Must be a list.")]})
    try:
        return [msgspec.json.encode(record).decode() for record in records]
    except (TypeError, ValueError, RecursionError) as error:
        raise Invalid({"records": [gettext("Must be valid JSON: %(error)s") % {"error": error}]}) from error


def decode_record(body: str) -> Any:
    return msgspec.json.decode(body)


def length_of(bodies: Sequence[str], *, after: int = 2) -> int:
    """Return the bytes of the compact JSON list of these records; `after` is the length of the list before them."""
    # The brackets alone are two bytes: a longer list is not empty, and needs a comma before the first new record.
    separators = len(bodies) if after > 2 else max(len(bodies) - 1, 0)
    return after + separators + sum(len(body.encode()) for body in bodies)


def check_length(theme: Theme, length: int) -> None:
    if length > theme.length_limit:
        raise SessionTooLong(length=length, limit=theme.length_limit)


def insert_records(session_id: int, bodies: Sequence[str], *, first: int = 0) -> None:
    SessionRecord.objects.bulk_create(
        SessionRecord(session_id=session_id, position=first + place, body=body) for place, body in enumerate(bodies)
    )


def read_records(session_ids: Collection[int]) -> dict[int, list[Any]]:
    """Return the records of many sessions, each in order, by one query."""
    found: defaultdict[int, list[Any]] = defaultdict(list)
    rows = SessionRecord.objects.filter(session__in=in_number_array(session_ids)).order_by("session_id", "position")
    for session_id, body in rows.values_list("session_id", "body"):
        found[session_id].append(decode_record(body))
    return found


class _NextSave(Func):
    template = "nextval('notifications_save_number')"
    output_field = BigIntegerField()


def next_save_number() -> Any:
    """Return the next place in the order of saving: an expression on PostgreSQL, a number on SQLite."""
    if connection.vendor == "postgresql":
        return _NextSave()
    # SQLite has no sequences; its write lock lets one transaction count at a time.
    with connection.cursor() as cursor:
        cursor.execute("UPDATE notifications_save_number SET last = last + 1 RETURNING last")
        return cursor.fetchone()[0]


def database_time_in(seconds: float) -> Any:
    """Return the expression of the database's time in so many seconds."""
    return Now() + timedelta(seconds=seconds)


def wake_scheduler(*, seconds: float) -> None:
    """Wake the scheduler for a session that is due in so many seconds, unless it looks before that anyway."""
    if seconds <= LOOK_SECONDS:
        ring(SESSIONS)


def wake_scheduler_at(time: datetime) -> None:
    wake_scheduler(seconds=(time - timezone.now()).total_seconds())


def write_step(session: RepeatSession, what: SessionStep.What, detail: str = "") -> None:
    """Write a step of the timeline."""
    write_steps([SessionStep(session=session, what=what, detail=detail)])


def write_steps(steps: Collection[SessionStep]) -> None:
    """Write steps of timelines; now and then delete the oldest: a theme may allow a million repeats."""
    for step in steps:
        step.detail, step.verdicts = clean_text(step.detail, LONGEST_DETAIL), clean_values(step.verdicts)
    SessionStep.objects.bulk_create(steps)
    # A failed repeat raises `change` by two: testing two neighbours of every fifty misses none.
    for session_id in {step.session_id for step in steps if step.session.change % 50 < 2}:
        _trim_timeline(session_id)


def _trim_timeline(session_id: int) -> None:
    newest = SessionStep.objects.filter(session=session_id).order_by("-pk").values_list("pk", flat=True)
    last = newest[LONGEST_TIMELINE - 1 : LONGEST_TIMELINE].first()
    if last is not None:
        SessionStep.objects.filter(session=session_id, pk__lt=last).delete()
