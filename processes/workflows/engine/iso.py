"""Durations, times and repeating intervals of ISO 8601, of which timers are made."""

import calendar
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from processes.workflows.engine.cron import Cron, NotCron, is_cron, parse_cron


class NotIso(ValueError):
    """The text is not what ISO 8601 calls a duration, a time or a repeating interval."""


@dataclass(frozen=True, slots=True)
class Duration:
    """A length of time; months are counted by the calendar, days have 24 hours, because all times are in UTC."""

    months: int = 0
    rest: timedelta = timedelta(0)

    def after(self, time: datetime) -> datetime:
        """Return the time this much later; the 31st becomes the last day of a shorter month."""
        try:
            return _add_months(time, self.months) + self.rest
        except (OverflowError, ValueError) as error:
            raise NotIso(_TOO_LONG) from error

    @property
    def is_shorter_than_a_second(self) -> bool:
        return self.months == 0 and self.rest < timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Calendar:
    """Times by the calendar, of a cron expression."""

    cron: Cron

    def after(self, time: datetime) -> datetime:
        try:
            return self.cron.after(time)
        except NotCron as error:
            raise NotIso(str(error)) from error


@dataclass(frozen=True, slots=True)
class Cycle:
    """A repeating interval: `R3/PT10M` fires three times, `R/PT1H` for ever."""

    count: int | None
    """How often in all; None: without an end."""
    interval: "Duration | Calendar"
    text: str
    """The interval as it was written."""
    start: datetime | None = None
    """When the first one is due; None: one interval from now."""

    def first(self, now: datetime) -> datetime:
        return self.start if self.start is not None else self.interval.after(now)


def parse_duration(text: str) -> Duration:
    """Parse `P1Y2M3DT4H5M6.5S`, or weeks (`P2W`); only days and what is smaller may have a fraction."""
    match = _DURATION.fullmatch(text.strip())
    if match is None or not any(match.groups()):
        raise NotIso("A duration is written like PT30M, P1DT12H or P1M.")
    years, months, *smaller = match.groups()
    weeks, days, hours, minutes, seconds = (float((part or "0").replace(",", ".")) for part in smaller)
    try:
        rest = timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)
    except OverflowError as error:
        raise NotIso(_TOO_LONG) from error
    return Duration(months=int(years or 0) * 12 + int(months or 0), rest=rest)


def parse_datetime(text: str) -> datetime:
    """Parse a date with or without a time; without a zone it is UTC."""
    if _DATETIME.fullmatch(text.strip()) is None:
        raise NotIso(_TIME_EXPECTED)
    try:
        time = datetime.fromisoformat(text.strip().replace(",", "."))
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise NotIso(_TIME_EXPECTED) from error


def parse_interval(text: str) -> Duration | Calendar:
    """Parse what a cycle repeats by: a duration, or a cron expression."""
    if not is_cron(text):
        return parse_duration(text)
    try:
        return Calendar(parse_cron(text.strip()))
    except NotCron as error:
        raise NotIso(str(error)) from error


def parse_cycle(text: str) -> Cycle:
    """Parse `R3/PT10M`, `R/PT1H` or, with its first time, `R5/2030-01-01T08:00:00Z/P1D`; or a cron expression."""
    if is_cron(text):
        return Cycle(None, parse_interval(text), text.strip())
    match = _CYCLE.fullmatch(text.strip())
    if match is None:
        raise NotIso("A cycle is written like R3/PT10M (three times) or R/PT1H (without an end).")
    repeats, start, interval = match.groups()
    count = int(repeats) if repeats else None
    if count == 0:
        raise NotIso("A cycle repeats at least once.")
    duration = parse_duration(interval)
    if duration.is_shorter_than_a_second:
        raise NotIso("A cycle's interval is at least one second.")
    return Cycle(count, duration, interval, start=parse_datetime(start) if start else None)


_WHOLE = r"(\d{1,5})"
_PART = r"(\d{1,9}(?:[.,]\d{1,9})?)"
_DURATION = re.compile(
    rf"P(?:{_WHOLE}Y)?(?:{_WHOLE}M)?(?:{_PART}W)?(?:{_PART}D)?"
    rf"(?:T(?=\d)(?:{_PART}H)?(?:{_PART}M)?(?:{_PART}S)?)?",
    re.ASCII,
)
_CLOCK = r"\d\d(?::?\d\d(?::?\d\d(?:[.,]\d{1,9})?)?)?"
_DATETIME = re.compile(rf"\d{{4}}-?\d\d-?\d\d(?:[T ]{_CLOCK}(?:Z|[+-]\d\d(?::?\d\d)?)?)?", re.ASCII)
_CYCLE = re.compile(r"R(\d{1,9})?/(?:([^/]+)/)?(P[^/]*)", re.ASCII)
_TOO_LONG = "The duration leads beyond the year 9999."
_TIME_EXPECTED = "A time is written like 2030-01-31T08:00:00Z."


def _add_months(time: datetime, months: int) -> datetime:
    if months == 0:
        return time
    year, month = divmod(time.year * 12 + time.month - 1 + months, 12)
    if year > 9999:
        raise OverflowError
    last = calendar.monthrange(year, month + 1)[1]
    return time.replace(year=year, month=month + 1, day=min(time.day, last))
