"""Dates, times and durations of FEEL: read, written, and counted with. What leads out of the calendar is null.

A date and time, and a time, may be without an offset; one with and one without cannot be compared. Names of zones are
not read: their rules change from one machine to the next, and a decision must give the same answer everywhere.
"""

import calendar
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any


@dataclass(frozen=True, slots=True, order=True)
class Months:
    """A duration of years and months, of which the length in days is open."""

    count: int


Temporal = date | datetime | time | timedelta | Months
MAX_MONTHS = 120_000

_DURATION = re.compile(
    r"(?P<sign>-)?P(?:(?P<years>\d{1,6})Y)?(?:(?P<months>\d{1,6})M)?(?:(?P<weeks>\d{1,6})W)?(?:(?P<days>\d{1,9})D)?"
    r"(?:T(?=\d)(?:(?P<hours>\d{1,9})H)?(?:(?P<minutes>\d{1,9})M)?(?:(?P<seconds>\d{1,9}(?:\.\d{1,9})?)S)?)?",
    re.ASCII,
)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_CLOCK = r"\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)?"
_TIME = re.compile(rf"T?({_CLOCK})", re.ASCII)
_DATETIME = re.compile(rf"\d{{4}}-\d\d-\d\dT{_CLOCK}", re.ASCII)


def parse_temporal(text: str) -> Temporal | None:
    """Read what `@"…"` holds: whichever kind the text has the form of."""
    text = text.strip()
    for parse in (parse_date, parse_datetime, parse_time, parse_duration):
        found = parse(text)
        if found is not None:
            return found
    return None


def parse_date(text: str) -> date | None:
    return _try(date.fromisoformat, text) if _DATE.fullmatch(text) else None


def parse_datetime(text: str) -> datetime | None:
    return _try(datetime.fromisoformat, text) if _DATETIME.fullmatch(text) else None


def parse_time(text: str) -> time | None:
    match = _TIME.fullmatch(text)
    return _try(time.fromisoformat, match[1]) if match else None


def parse_duration(text: str) -> timedelta | Months | None:
    """Read a duration of years and months, or of days and what is smaller."""
    match = _DURATION.fullmatch(text.strip())
    if match is None or not any(match.group(name) for name in match.groupdict() if name != "sign"):
        return None
    parts = {name: value for name, value in match.groupdict().items() if value and name != "sign"}
    sign = -1 if match["sign"] else 1
    if parts.keys() <= {"years", "months"}:
        count = int(parts.get("years", 0)) * 12 + int(parts.get("months", 0))
        return Months(sign * count) if count <= MAX_MONTHS else None
    if parts.keys() & {"years", "months"}:
        return None
    length: timedelta | None = _try(lambda: sign * timedelta(**{name: float(value) for name, value in parts.items()}))
    return length


def _try(make: Any, *arguments: Any) -> Any:
    """Make a temporal value; None where the calendar has no such day or it ends before."""
    try:
        return make(*arguments)
    except (ValueError, OverflowError):
        return None


def add(left: Any, right: Any) -> Any:
    """Add a duration to a date, a time or a duration, in either order; None where that has no meaning."""
    if isinstance(left, timedelta | Months) and not isinstance(right, timedelta | Months):
        left, right = right, left
    if isinstance(left, Months) and isinstance(right, Months):
        return _months(left.count + right.count)
    if isinstance(right, Months):
        return _add_months(left, right.count) if isinstance(left, date) else None
    if not isinstance(right, timedelta):
        return None
    if isinstance(left, time):
        return (datetime.combine(date(2000, 1, 1), left) + right % timedelta(days=1)).timetz()
    if isinstance(left, date) and not isinstance(left, datetime):
        # A date is a midnight here: what is left of the day is dropped again.
        return _try(lambda: (datetime.combine(left, time()) + right).date())
    return _try(lambda: left + right) if isinstance(left, datetime | timedelta) else None


def subtract(left: Any, right: Any) -> Any:
    if isinstance(right, timedelta):
        back = _try(lambda: -right)  # the longest has no negative
        return None if back is None else add(left, back)
    if isinstance(right, Months):
        return add(left, Months(-right.count))
    if isinstance(left, time) and isinstance(right, time):
        one, other = (datetime.combine(date(2000, 1, 1), each) for each in (left, right))
        return one - other if is_comparable(left, right) else None
    if isinstance(left, date) and isinstance(right, date):
        one, other = to_datetime(left), to_datetime(right)
        return one - other if is_comparable(one, other) else None
    return None


def multiply(duration: timedelta | Months, factor: Decimal) -> Any:
    if isinstance(duration, Months):
        return _months(int(duration.count * factor))
    return _try(lambda: timedelta(microseconds=int(Decimal(_microseconds(duration)) * factor)))


def divide(left: Any, right: Any) -> Any:
    """Divide a duration by a number, or by a duration of its kind, which gives a number."""
    if isinstance(right, Decimal):
        return multiply(left, 1 / right) if right else None
    if isinstance(left, Months) and isinstance(right, Months):
        return Decimal(left.count) / Decimal(right.count) if right.count else None
    if isinstance(left, timedelta) and isinstance(right, timedelta) and right:
        return Decimal(_microseconds(left)) / Decimal(_microseconds(right))
    return None


def is_comparable(left: Any, right: Any) -> bool:
    """Return whether two temporal values have an order: of one kind, both with an offset or both without."""
    if type(left) is not type(right):
        return False
    if isinstance(left, datetime | time):
        return (left.tzinfo is None) == (right.tzinfo is None)
    return isinstance(left, date | timedelta | Months)


def to_datetime(value: date | datetime) -> datetime:
    # By the standard a date counts as midnight in UTC where it meets a date and time.
    return value if isinstance(value, datetime) else datetime.combine(value, time(), UTC)


def months_between(start: date, end: date) -> Months:
    """Return the whole months from one date to another."""
    count = (end.year - start.year) * 12 + end.month - start.month
    if count > 0 and end.day < start.day:
        count -= 1
    elif count < 0 and end.day > start.day:
        count += 1
    return Months(count)


def format_temporal(value: Temporal) -> str:
    if isinstance(value, Months):
        years, months = divmod(abs(value.count), 12)
        text = (f"{years}Y" if years else "") + (f"{months}M" if months else "")
        return f"{'-' if value.count < 0 else ''}P{text or '0M'}"
    if isinstance(value, timedelta):
        return _format_timedelta(value)
    text = value.isoformat()
    return f"{text[:-6]}Z" if text.endswith("+00:00") else text


def _format_timedelta(value: timedelta) -> str:
    total = abs(_microseconds(value))
    seconds, fraction = divmod(total, 1_000_000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    tail = f".{fraction:06d}".rstrip("0") if fraction else ""
    clock = (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "")
    clock += f"{seconds}{tail}S" if seconds or tail else ""
    text = (f"{days}D" if days else "") + (f"T{clock}" if clock else "")
    return f"{'-' if value < timedelta(0) else ''}P{text or 'T0S'}"


def _microseconds(value: timedelta) -> int:
    return (value.days * 86_400 + value.seconds) * 1_000_000 + value.microseconds


def _months(count: int) -> Months | None:
    return Months(count) if abs(count) <= MAX_MONTHS else None


def _add_months(value: date, months: int) -> date | None:
    year, month = divmod(value.year * 12 + value.month - 1 + months, 12)
    if not 1 <= year <= 9999:
        return None
    return value.replace(year=year, month=month + 1, day=min(value.day, calendar.monthrange(year, month + 1)[1]))


def make_offset(value: Any) -> timezone | None:
    """Return the offset of a time that is given as a duration; None where it is none."""
    return _try(timezone, value) if isinstance(value, timedelta) else None
