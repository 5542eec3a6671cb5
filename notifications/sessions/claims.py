"""Take sessions for a repeat: by repeat time, then by order of saving; and find those whose holder fell silent."""

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
"""How long a dead worker's sessions stay away; the lease of a handler that runs is renewed."""
LAPSED_BATCH = 200


@dataclass
class Claim:
    """A session that this process may repeat, with all that it takes; `row.change` is the fence it holds."""

    row: RepeatSession
    theme: Theme
    records: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.fence = self.row.change
        """Of the whole repeat; the row's own number rises with each operation."""
        self.held_until = math.inf
        """By `lease_clock`: after that a worker that was stopped for long must not act on it any more."""

    def hold(self, since: float) -> None:
        """Note a lease that was taken or renewed at that time."""
        self.held_until = since + LEASE.total_seconds()

    @property
    def was_due_at(self) -> datetime:
        """The deadline that the row had before it was claimed; SQLite returns it without its offset."""
        value: datetime = getattr(self.row, "was_due_at")  # noqa: B009
        return value if value.tzinfo is not None else value.replace(tzinfo=UTC)


@dataclass(frozen=True)
class NearestTimes:
    """How many seconds from now the nearest sessions are due; less than nothing is overdue, None is never."""

    repeat: float | None
    lapse: float | None
    is_any_open: bool = False
    """Whether the breaker of some theme is open."""

    @property
    def nearest(self) -> float | None:
        return min((each for each in (self.repeat, self.lapse) if each is not None), default=None)


def find_nearest_times() -> NearestTimes:
    """Find the nearest times, in one query over two indexes."""
    with connection.cursor() as cursor:
        cursor.execute(sql.load_engine_sql("notifications", "nearest_session"))
        repeat, lapse, is_any_open = cursor.fetchone()
    return NearestTimes(_seconds(repeat), _seconds(lapse), bool(is_any_open))


@dataclass(frozen=True)
class ThemeNearestTime:
    """In how many seconds the nearest session of a theme is due; None if none is saved."""

    number: int
    is_open: bool
    repeat: float | None

    @property
    def is_due(self) -> bool:
        return self.repeat is not None and self.repeat <= 0


def find_nearest_by_theme() -> list[ThemeNearestTime]:
    """Find the nearest time of each theme, the nearest first."""
    with connection.cursor() as cursor:
        cursor.execute(sql.load_engine_sql("notifications", "nearest_by_theme"))
        rows = cursor.fetchall()
    return [ThemeNearestTime(number, bool(is_open), _seconds(repeat)) for number, is_open, repeat in rows]


def claim_due(limit: int, theme: int | None = None) -> list[Claim]:
    """Claim up to so many of the saved sessions whose time has come, of all themes or of one, with their records.

    In one transaction: a claim whose records cannot be read would count as the death of a worker.
    """
    claimed_at = lease_clock()
    saved = RepeatSession.objects.filter(status=RepeatSession.Status.SAVED)
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
        each.hold(claimed_at)
    return claims


def claim_lapsed() -> list[Claim]:
    """Claim active sessions that nobody has touched in time: their caller has gone, or their worker has died."""
    active = RepeatSession.objects.filter(status=RepeatSession.Status.ACTIVE)
    rows = claim(active, limit=LAPSED_BATCH, lease=LEASE, fence="change")
    return [Claim(row, theme) for row, theme in _with_themes(rows)]


def _with_themes(rows: Sequence[RepeatSession]) -> list[tuple[RepeatSession, Theme]]:
    themes = Theme.objects.in_bulk({row.theme_id for row in rows}) if rows else {}
    return [(row, themes[row.theme_id]) for row in rows]


def _seconds(value: Any) -> float | None:
    return None if value is None else float(value)
