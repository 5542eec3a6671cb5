"""Cycles by the calendar, written as cron: minute, hour, day, month, weekday, with seconds before and a year behind.

With a `?` it is Quartz's form, in which Sunday is 1; else Sunday is 0 and 7. All times are in UTC.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta


class NotCron(ValueError):
    """The text is no cron expression, or one with a sign that is not supported."""


@dataclass(frozen=True, slots=True)
class Cron:
    seconds: tuple[int, ...]
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    """Monday is 0, as in Python."""
    years: frozenset[int] | None
    is_either_day: bool
    """Both a day and a weekday are written: by the rule of cron, one of them is enough."""

    def after(self, time: datetime) -> datetime:
        """Return the first time after this one; raises NotCron when there is none within a few years."""
        earliest = time.replace(microsecond=0) + timedelta(seconds=1)
        day = earliest.replace(hour=0, minute=0, second=0)
        for _ in range(_MOST_DAYS):
            if self._is_day(day):
                found = self._find_on(day, earliest)
                if found is not None:
                    return found
            try:
                day += timedelta(days=1)
            except OverflowError as error:
                raise NotCron(_NEVER) from error
        raise NotCron(_NEVER)

    def _is_day(self, day: datetime) -> bool:
        if day.month not in self.months or (self.years is not None and day.year not in self.years):
            return False
        is_day, is_weekday = day.day in self.days, day.weekday() in self.weekdays
        return is_day or is_weekday if self.is_either_day else is_day and is_weekday

    def _find_on(self, day: datetime, earliest: datetime) -> datetime | None:
        for hour in self.hours:
            for minute in self.minutes:
                if day.replace(hour=hour, minute=minute, second=59) < earliest:
                    continue
                for second in self.seconds:
                    found = day.replace(hour=hour, minute=minute, second=second)
                    if found >= earliest:
                        return found
        return None


def parse_cron(text: str) -> Cron:
    fields = text.split()
    if len(text) > MAX_TEXT or not 5 <= len(fields) <= 7:
        raise NotCron(_EXPECTED)
    seconds = fields.pop(0) if len(fields) > 5 else "0"
    minutes, hours, days, months, weekdays, *year = fields
    sunday = 1 if "?" in text else 0
    return Cron(
        seconds=tuple(sorted(_read(seconds, 0, 59))),
        minutes=tuple(sorted(_read(minutes, 0, 59))),
        hours=tuple(sorted(_read(hours, 0, 23))),
        days=_read(days, 1, 31),
        months=_read(months, 1, 12, _MONTHS, offset=1),
        weekdays=frozenset((day - sunday - 1) % 7 for day in _read(weekdays, 0, 7, _WEEKDAYS, offset=sunday)),
        years=None if not year or year[0] in ("*", "?") else _read(year[0], 1970, 2199),
        is_either_day=not {days, weekdays} & {"*", "?"},
    )


def is_cron(text: str) -> bool:
    """Return whether a text has the form of a cron expression; whether it is a right one is another question."""
    return len(text) <= MAX_TEXT and _FORM.fullmatch(text.strip()) is not None


MAX_TEXT = 100
_MOST_DAYS = 366 * 9
"""The 29th of February on a given weekday is rarer; nobody writes that."""
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_FORM = re.compile(r"[\d*/,-]+(?:\s+[\d*?/,A-Za-z#-]+){4,6}", re.ASCII)
_PART = re.compile(r"(?:([*?])|(\w+)(?:-(\w+))?)(?:/(\d{1,4}))?", re.ASCII)
_EXPECTED = "A cron expression is written like 0 8 * * MON-FRI, or with seconds 0 0 8 ? * MON-FRI."
_NEVER = "The cron expression names no time within the next years."


def _read(text: str, least: int, most: int, names: tuple[str, ...] = (), *, offset: int = 0) -> frozenset[int]:
    """Return the numbers that a field stands for."""
    found: set[int] = set()
    for part in text.split(","):
        match = _PART.fullmatch(part)
        if match is None:
            raise NotCron(_EXPECTED)
        any_value, first, last, step = match.groups()
        low = least if any_value else _read_number(first, names, offset)
        high = most if any_value or (step and not last) else _read_number(last or first, names, offset)
        if not least <= low <= most or not least <= high <= most or step == "0":
            raise NotCron(_EXPECTED)
        # FRI-MON goes over the end of the week.
        span = range(low, high + 1) if low <= high else [*range(low, most + 1), *range(least, high + 1)]
        found |= set(span[:: int(step or 1)])
    return frozenset(found)


def _read_number(word: str, names: tuple[str, ...], offset: int) -> int:
    if word.upper() in names:
        return names.index(word.upper()) + offset
    if not word.isdigit():
        raise NotCron(_EXPECTED)
    return int(word)
