"""The quick way for callers in Python: a session that is created and saved at once, in one round trip."""

from collections.abc import Sequence
from typing import Any

from django.db import connection, transaction
from django.utils.translation import gettext

from config.common.correlation import correlation_id
from config.common.errors import Invalid
from config.common.sql import load, postgresql_cursor
from notifications.models import RepeatSession, Theme
from notifications.sessions.lifecycle import saved
from notifications.sessions.order import announce, in_seconds
from notifications.sessions.records import check_length, encode_records, insert_records, length_of


def remember(*, theme: int, records: Sequence[Any], delay: float | None = None) -> int:
    """Save a session for repetition after a delay, by default its theme's; return its id.

    Inside a transaction it becomes true with the rest of it.
    """
    return remember_many(theme=theme, sessions=[records], delay=delay)[0]


def remember_many(*, theme: int, sessions: Sequence[Sequence[Any]], delay: float | None = None) -> list[int]:
    """Save sessions of one theme, all or none, in their order; return their ids."""
    encoded = [encode_records(records) for records in sessions]
    if not encoded:
        return []
    ids = _insert(theme, encoded, delay) if connection.vendor == "postgresql" else []
    ids = ids or _insert_one_by_one(theme, encoded, delay)
    # The theme's own delay is not known here; a look too many is cheaper than a read for every save.
    announce(seconds=0.0 if delay is None else delay)
    return ids


def _insert(theme: int, sessions: Sequence[Sequence[str]], delay: float | None) -> list[int]:
    """Return the new ids; none when the theme refuses them, for whatever reason."""
    common = {"theme": theme, "delay": delay, "chain": correlation_id()}
    if len(sessions) == 1:
        [bodies] = sessions
        own = {"length": length_of(bodies), "count": len(bodies), "bodies": list(bodies)}
        return _run("remember_session", {**common, **own})
    return _run("remember_sessions", {**common, **_arrays(sessions)})


def _arrays(sessions: Sequence[Sequence[str]]) -> dict[str, list[Any]]:
    """Spread the records of all sessions over columns, each with the place of its session."""
    rows = [(place, position, body) for place, each in enumerate(sessions, 1) for position, body in enumerate(each)]
    return {
        "lengths": [length_of(bodies) for bodies in sessions],
        "counts": [len(bodies) for bodies in sessions],
        "places": [place for place, _, _ in rows],
        "positions": [position for _, position, _ in rows],
        "bodies": [body for _, _, body in rows],
    }


def _run(name: str, values: dict[str, Any]) -> list[int]:
    with postgresql_cursor() as cursor:
        cursor.execute(load("notifications", f"{name}.postgresql"), values)
        return [pk for (pk,) in cursor.fetchall()]


def _insert_one_by_one(theme: int, sessions: Sequence[Sequence[str]], delay: float | None) -> list[int]:
    """The same for SQLite; and the way to learn why PostgreSQL inserted nothing."""
    with transaction.atomic():
        found = Theme.objects.filter(pk=theme).first()
        if found is None:
            raise Invalid({"theme": [gettext("There is no such theme.")]})
        return [_insert_one(found, bodies, found.delay if delay is None else delay) for bodies in sessions]


def _insert_one(theme: Theme, bodies: Sequence[str], delay: float) -> int:
    length = length_of(bodies)
    check_length(theme, length)
    session = RepeatSession.objects.create(
        theme=theme,
        length=length,
        record_count=len(bodies),
        correlation_id=correlation_id(),
        **saved(in_seconds(delay)),
    )
    insert_records(session.pk, bodies)
    return session.pk
