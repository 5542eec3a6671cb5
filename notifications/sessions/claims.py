"""Claim sessions for a repeat, by repeat time and then by order of saving; claim those whose lease has ended."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connection, transaction

from config.common.database import sql
from config.common.database.leases import claim, lease_clock
from notifications.models import RepeatSession, Theme
from notifications.sessions.storage import read_records

LEASE = timedelta(seconds=30)
"""How long the sessions of a dead worker stay claimed; the lease of a running handler is renewed."""
LAPSED_BATCH = 200


@dataclass
class Claim:
    """A session that this process may repeat, with its theme and records; `row.change` is the fence."""

    row: RepeatSession
    theme: Theme
    records: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.fence = self.row.change
        """The fence of the whole repeat; `row.change` rises with each operation."""
        self.held_until = math.inf
        """The end of the lease by `lease_clock`: a worker that was suspended past it must not act any more."""

    def extend_lease(self, since: float) -> None:
        """Note a lease that was taken or renewed at that time."""
        self.held_until = since + LEASE.total_seconds()

    @property
    def was_due_at(self) -> datetime:
        """The deadline that the row had before it was claimed; SQLite returns it without its offset."""
        value: datetime = getattr(self.row, "was_due_at")  # noqa: B009
        return value if value.tzinfo is not None else value.replace(tzinfo=UTC)


@dataclass(frozen=True)
class NearestTimes:
    """In how many seconds the nearest sessions are due; negative if overdue, None if there is none."""

    repeat: float | None
    lapse: float | None
    is_any_open: bool = False
    """Whether the breaker of some theme is open."""

    @property
    def nearest(self) -> float | None:
        return min((each for each in (self.repeat, self.lapse) if each is not None), default=None)


def find_nearest_times() -> NearestTimes:
    """Return the nearest times, by one query over two indexes."""
    with connection.cursor() as cursor:
        cursor.execute(sql.load_engine_sql("notifications", "nearest_session"))
        repeat, lapse, is_any_open = cursor.fetchone()
    return NearestTimes(_seconds(repeat), _seconds(lapse), bool(is_any_open))


@dataclass(frozen=True)
class ThemeNearestTime:
    """In how many seconds the nearest saved session of a theme is due; None if there is none."""

    number: int
    is_open: bool
    repeat: float | None

    @property
    def is_due(self) -> bool:
        return self.repeat is not None and self.repeat <= 0


def find_nearest_by_theme() -> list[ThemeNearestTime]:
    """Return the nearest time of each theme, the nearest first."""
    with connection.cursor() as cursor:
        cursor.execute(sql.load_engine_sql("notifications", "nearest_by_theme"))
        rows = cursor.fetchall()
    return [ThemeNearestTime(number, bool(is_open), _seconds(repeat)) for number, is_open, repeat in rows]


def claim_due(limit: int, theme: int | None = None) -> list[Claim]:
    """Claim up to `limit` due sessions, of all themes or of one, with their records."""
    claimed_at = lease_clock()
    saved = RepeatSession.objects.filter(status=RepeatSession.Status.SAVED)
    # One transaction: a claim whose records could not be read would count as the death of a worker.
    with transaction.atomic():
        rows = claim(
            saved if theme is None else saved.filter(theme=theme),
            limit=limit,
            lease=LEASE,
            fence="change",
            then_by="save_number",
            also={"status": RepeatSession.Status.ACTIVE.value, "is_repeating": True},
        )
        records = read_records([row.pk for row in rows]) if rows else {}
        claims = [Claim(row, theme, records.get(row.pk, [])) for row, theme in _with_themes(rows)]
    for each in claims:
        each.extend_lease(claimed_at)
    return claims


def claim_lapsed() -> list[Claim]:
    """Claim active sessions whose deadline has passed: their caller is gone, or their worker has died."""
    active = RepeatSession.objects.filter(status=RepeatSession.Status.ACTIVE)
    rows = claim(active, limit=LAPSED_BATCH, lease=LEASE, fence="change")
    return [Claim(row, theme) for row, theme in _with_themes(rows)]


def _with_themes(rows: Sequence[RepeatSession]) -> list[tuple[RepeatSession, Theme]]:
    themes = Theme.objects.in_bulk({row.theme_id for row in rows}) if rows else {}
    return [(row, themes[row.theme_id]) for row in rows]


def _seconds(value: Any) -> float | None:
    return None if value is None else float(value)
