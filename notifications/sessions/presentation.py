"""Sessions as REST and webhooks present them."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from django.db.models import F, Window
from django.db.models.functions import RowNumber

from config.common.database.sql import in_number_array
from config.common.times import format_time
from notifications.errors import SessionNotFound
from notifications.models import RepeatSession, SessionStep
from notifications.sessions.storage import LONGEST_TIMELINE, read_records

CREATED = "created"
PART_BYTES = 1_048_576
"""The bytes of records that are read into memory at once."""


def describe(session: RepeatSession, records: Sequence[Any]) -> dict[str, Any]:
    return {
        "id": session.pk,
        "theme": session.theme_id,
        "change": session.change,
        "status": str(session.status),
        "records": list(records),
        "repeats": session.repeats,
        "repeat_at": None if session.repeat_at is None else format_time(session.repeat_at),
    }


def present_session(session_id: int) -> dict[str, Any]:
    """Return a session as the answer to a write."""
    session = get_session(session_id)
    return describe(session, read_records([session.pk])[session.pk])


def present_with_timelines(sessions: Sequence[RepeatSession]) -> list[dict[str, Any]]:
    """Return sessions with their timelines, by two more queries for all of them."""
    ids = [session.pk for session in sessions]
    if not ids:
        return []
    records, steps = read_records(ids), _read_steps(ids)
    return [
        {
            **describe(session, records[session.pk]),
            # The first step is stored on the session's own row.
            "timeline": [
                {"at": format_time(session.created_at), "what": CREATED, "verdicts": []},
                *steps[session.pk],
            ],
        }
        for session in sessions
    ]


def present_in_parts(sessions: Sequence[RepeatSession]) -> Iterator[dict[str, Any]]:
    """Yield the same one by one, with about a megabyte of records in memory at a time."""
    part: list[RepeatSession] = []
    length = 0
    for session in sessions:
        if part and length + session.length > PART_BYTES:
            yield from present_with_timelines(part)
            part, length = [], 0
        part.append(session)
        length += session.length
    yield from present_with_timelines(part)


def get_session(session_id: int) -> RepeatSession:
    session = RepeatSession.objects.filter(pk=session_id).first() if 0 < session_id < 2**63 else None
    if session is None:
        raise SessionNotFound
    return session


def _read_steps(session_ids: Sequence[int]) -> dict[int, list[dict[str, Any]]]:
    """Return the newest steps of each session, oldest first."""
    found: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
    place = Window(RowNumber(), partition_by="session_id", order_by=F("id").desc())
    rows = SessionStep.objects.filter(session__in=in_number_array(session_ids)).annotate(place=place)
    for step in rows.filter(place__lte=LONGEST_TIMELINE).order_by("id"):
        what = f"{step.what}: {step.detail}" if step.detail else step.what
        found[step.session_id].append({"at": format_time(step.at), "what": what, "verdicts": step.verdicts})
    return found
