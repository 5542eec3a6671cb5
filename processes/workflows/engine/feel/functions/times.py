"""Functions of dates, times and durations."""

import calendar
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from processes.workflows.engine.feel.functions.registry import define
from processes.workflows.engine.feel.run import Run
from processes.workflows.engine.feel.temporal import (
    Months,
    make_offset,
    months_between,
    parse_date,
    parse_datetime,
    parse_duration,
    parse_time,
)

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


@define("now()")
def _now(run: Run) -> datetime:
    return run.at.astimezone(UTC)


@define("today()")
def _today(run: Run) -> date:
    return run.at.astimezone(UTC).date()


@define("date(year, month, day)", least=1)
def _date(run: Run, first: Any, month: Any = None, day: Any = None) -> date | None:
    if month is not None or day is not None:
        parts = _whole(first, month, day)
        return _try_make(date, *parts) if parts is not None else None
    if isinstance(first, str):
        found = parse_datetime(first)
        return found.date() if found is not None else parse_date(first)
    if isinstance(first, datetime):
        return first.date()
    return first if isinstance(first, date) else None


@define("time(hour, minute, second, offset)", least=1)
def _time(run: Run, first: Any, minute: Any = None, second: Any = None, offset: Any = None) -> time | None:
    if minute is not None:
        parts = _whole(first, minute, second if second is not None else Decimal(0))
        found = _try_make(time, *parts) if parts is not None else None
        return None if found is None else found.replace(tzinfo=make_offset(offset))
    if isinstance(first, str):
        return parse_time(first)
    if isinstance(first, datetime):
        return first.timetz()
    return first if isinstance(first, time) else None


@define("date and time(date, time)", least=1)
def _date_and_time(run: Run, first: Any, clock: Any = None) -> datetime | None:
    if clock is not None:
        day = first.date() if isinstance(first, datetime) else first
        return datetime.combine(day, clock) if isinstance(day, date) and isinstance(clock, time) else None
    if isinstance(first, str):
        day = parse_date(first)
        return datetime.combine(day, time()) if day is not None else parse_datetime(first)
    return first if isinstance(first, datetime) else None


@define("duration(from)")
def _duration(run: Run, text: Any) -> timedelta | Months | None:
    if isinstance(text, timedelta | Months):
        return text
    return parse_duration(text) if isinstance(text, str) else None


@define("years and months duration(from, to)")
def _months_between(run: Run, start: Any, end: Any) -> Months | None:
    return months_between(start, end) if isinstance(start, date) and isinstance(end, date) else None


@define("day of week(date)")
def _day_of_week(run: Run, day: Any) -> str | None:
    return _DAYS[day.weekday()] if isinstance(day, date) else None


@define("month of year(date)")
def _month_of_year(run: Run, day: Any) -> str | None:
    return _MONTHS[day.month - 1] if isinstance(day, date) else None


@define("day of year(date)")
def _day_of_year(run: Run, day: Any) -> Decimal | None:
    return Decimal(day.timetuple().tm_yday) if isinstance(day, date) else None


@define("week of year(date)")
def _week_of_year(run: Run, day: Any) -> Decimal | None:
    return Decimal(day.isocalendar()[1]) if isinstance(day, date) else None


def _whole(*parts: Any) -> tuple[int, ...] | None:
    if not all(isinstance(part, Decimal) and abs(part) < 10_000 for part in parts):
        return None
    return tuple(int(part) for part in parts)


def _try_make(make: Any, *parts: int) -> Any:
    try:
        return make(*parts)
    except (ValueError, OverflowError):
        return None


@define("last day of month(date)")
def _last_day(run: Run, day: Any) -> date | None:
    if not isinstance(day, date):
        return None
    last = calendar.monthrange(day.year, day.month)[1]
    return day.replace(day=last)
