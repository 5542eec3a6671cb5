"""Steady time: the clock by which silence is measured, the same for every process and never set back.

It is the database's clock, so that signals stamped by one node and marks written by another compare. Between two looks
at the database a process carries it on by its monotonic clock. Where a look finds the database's clock behind that, it
has been set back: steady time goes on as before, ahead of it by so much more. A clock set forward is a gap in hearing
like any other: time in which nobody can have been heard (`hearing.py`).
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property

import structlog
from django.db import connection, transaction
from django.utils import timezone

from config.common.database import sql
from config.common.times import to_milliseconds
from sensors.models import SteadyClock

log = structlog.get_logger(__name__)

# Less than this is no step: clocks are slewed by more within a day, and nothing is judged that closely.
TOLERANCE = timedelta(seconds=0.5)
# How much faster than the database's clock the one of this machine may run.
DRIFT = 1e-4


@dataclass(frozen=True)
class Look:
    """One look at the database's clock."""

    time: datetime
    ahead: timedelta
    seconds: float
    """How long the look took: the database answered somewhere within."""

    @property
    def steady(self) -> datetime:
        return self.time + self.ahead


@dataclass(frozen=True)
class _Anchor:
    steady: datetime
    at: float
    ahead: timedelta

    @cached_property
    def time_ms(self) -> int:
        return to_milliseconds(self.steady - self.ahead)


class Clock:
    """Steady time in one process; `now` asks nobody."""

    def __init__(
        self, ask: Callable[[], tuple[datetime, int]] | None = None, monotonic: Callable[[], float] | None = None
    ) -> None:
        self._ask = ask or _ask_database
        self._monotonic = monotonic or _monotonic
        self._anchor: _Anchor | None = None

    def now(self) -> datetime:
        """Return steady time, at most as late as it is; before the first look, this node's time."""
        anchor = self._anchor
        if anchor is None:
            return datetime.now(UTC)
        return anchor.steady + timedelta(seconds=self._monotonic() - anchor.at)

    def time(self) -> datetime:
        """Return the database's time as this process knows it: the time of receipt of what comes now."""
        return self.now() - self.ahead

    def time_in_milliseconds(self) -> int:
        """Return the same as a number, without making times of it: every signal asks."""
        anchor = self._anchor
        if anchor is None:
            return to_milliseconds(self.time())
        return anchor.time_ms + int((self._monotonic() - anchor.at) * 1000)

    @property
    def ahead(self) -> timedelta:
        """By how much steady time is ahead of the database's."""
        return timedelta() if self._anchor is None else self._anchor.ahead

    def look(self) -> Look | None:
        """Ask the database and go by its answer; return None where its clock has been set back since the last look."""
        look = self._look()
        if self._step_back(look):
            return None
        self._go_by(look)
        return look

    def look_and_correct(self) -> datetime:
        """Ask the database, and keep steady time going where its clock has been set back; return steady time."""
        look = self.look()
        if look is not None:
            return look.steady
        with transaction.atomic():
            row = _lock_row()
            # Under the lock: of several processes that see the step one corrects it, the others find it done.
            look = self._look()
            step = self._step_back(look)
            if step:
                row.ahead_ms += round(step / timedelta(milliseconds=1))
                row.save(update_fields=["ahead_ms"])
                look = Look(look.time, timedelta(milliseconds=row.ahead_ms), look.seconds)
                log.warning("clock.set_back", seconds=round(step.total_seconds(), 3))
        self._go_by(look)
        return look.steady

    def go_on_from(self, steady: datetime) -> datetime:
        """Go on from a steady time that was reached already: the clock was set back while no process looked."""
        with transaction.atomic():
            row = _lock_row()
            look = self._look()
            step = max(timedelta(), steady - look.steady)
            row.ahead_ms += round(step / timedelta(milliseconds=1))
            row.save(update_fields=["ahead_ms"])
        log.warning("clock.set_back", seconds=round(step.total_seconds(), 3))
        self._anchor = None
        self._go_by(Look(look.time, timedelta(milliseconds=row.ahead_ms), look.seconds))
        return self.now()

    def _look(self) -> Look:
        asked = self._monotonic()
        answered, ahead_ms = self._ask()
        return Look(answered, timedelta(milliseconds=ahead_ms), self._monotonic() - asked)

    def _step_back(self, look: Look) -> timedelta:
        """Return by how much the clock was set back; nothing where the length of the look can explain it."""
        if self._anchor is None:
            return timedelta()
        step = self.now() - look.steady
        return step if step > TOLERANCE + timedelta(seconds=look.seconds) else timedelta()

    def _go_by(self, look: Look) -> None:
        """Go on from the answer, counted from when it came: never later than steady time is, if less exact.

        What was known before may be nearer: this look may have taken longer than others.
        """
        steady, at = look.steady, self._monotonic()
        if self._anchor is not None:
            since = timedelta(seconds=at - self._anchor.at)
            steady = max(steady, self._anchor.steady + since - since * DRIFT)
        self._anchor = _Anchor(steady, at, look.ahead)


def _ask_database() -> tuple[datetime, int]:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(sql.load_sql("sensors", "read_clock.postgresql"))
            answered, ahead_ms = cursor.fetchone()
            return answered, ahead_ms
    ahead = SteadyClock.objects.filter(pk=1).values_list("ahead_ms", flat=True).first()
    return timezone.now(), ahead or 0


def _lock_row() -> SteadyClock:
    SteadyClock.objects.bulk_create([SteadyClock(pk=1)], ignore_conflicts=True)
    return SteadyClock.objects.select_for_update().get(pk=1)


def _monotonic() -> float:
    """Count the time in which the machine slept, too: a laptop that wakes up has not had its clock set."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


clock = Clock()
