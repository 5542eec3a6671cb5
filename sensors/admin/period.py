"""The period that a page shows: a preset up to now, or any from and to; and the ways from it to others."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from urllib.parse import urlencode

from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext

from config.common.times import format_time, from_milliseconds, parse_time, to_milliseconds, truncate_to_milliseconds
from sensors.history.values import Period
from sensors.ingest.signals import EARLIEST

PRESETS = {"24h": timedelta(hours=24), "7d": timedelta(days=7), "30d": timedelta(days=30)}
SHORTEST = timedelta(seconds=1)
EARLIEST_TIME = from_milliseconds(EARLIEST)
SECTIONS = 6


class BadPeriod(ValueError):
    """Holds what is wrong with a period that was asked for, in words."""


@dataclass(frozen=True)
class Move:
    """A way to another period: its name, the key that takes it, and the query of its page."""

    name: str
    key: str
    query: str


@dataclass(frozen=True)
class ShownPeriod:
    start: datetime
    end: datetime
    preset: str = ""

    @property
    def length(self) -> timedelta:
        return self.end - self.start

    @property
    def in_milliseconds(self) -> Period:
        return Period(to_milliseconds(self.start), to_milliseconds(self.end))

    @property
    def query(self) -> str:
        """Return the query that shows this very period, also later."""
        return urlencode({"from": format_time(self.start), "to": format_time(self.end)})

    @property
    def local_start(self) -> str:
        return local_text(self.start)

    @property
    def local_end(self) -> str:
        return local_text(self.end)


def read_period(params: Mapping[str, str], *, now: datetime, longest: timedelta | None = None) -> ShownPeriod:
    """Return the period that a page is asked for, by default the last 24 hours; raise `BadPeriod` for a wrong one."""
    now = truncate_to_milliseconds(now)
    if not params.get("from") and not params.get("to"):
        preset = params.get("period", "")
        preset = preset if preset in PRESETS else "24h"
        return ShownPeriod(now - PRESETS[preset], now, preset)
    end = read_time(params["to"]) if params.get("to") else now
    start = read_time(params["from"]) if params.get("from") else end and end - PRESETS["24h"]
    if start is None or end is None:
        raise BadPeriod(gettext("This is not a valid time."))
    end = min(end, now)  # nothing is known of what is to come
    if end - start < SHORTEST:
        raise BadPeriod(gettext("The end must be after the beginning."))
    start = max(start, EARLIEST_TIME)
    if end <= start or (longest is not None and end - start > longest):
        raise BadPeriod(gettext("The period is too long or too far in the past."))
    return ShownPeriod(start, end)


def read_time(text: str) -> datetime | None:
    """Return a time that a page is asked for: with an offset, or in the reader's time zone; None: it cannot be read."""
    try:
        return parse_time(text)
    except ValueError:
        pass
    try:
        local = parse_datetime(text[:40])
        if local is None or local.tzinfo is not None:
            return None
        return truncate_to_milliseconds(timezone.make_aware(local).astimezone(UTC))
    except (ValueError, OverflowError):
        return None


def find_moves(shown: ShownPeriod, *, now: datetime, longest: timedelta | None = None) -> list[Move]:
    """Return the ways to earlier, later, shorter and longer periods."""
    now, half = truncate_to_milliseconds(now), shown.length / 2
    middle = shown.start + half
    moves = [
        (gettext("Earlier"), "ArrowLeft", shown.start - half, shown.end - half),
        (gettext("Zoom in"), "+", middle - half / 2, middle + half / 2),
        (gettext("Zoom out"), "-", middle - shown.length, middle + shown.length),
        (gettext("Later"), "ArrowRight", shown.start + half, shown.end + half),
    ]
    found = []
    for name, key, start, end in moves:
        if end > now:  # nothing is known of what is to come
            start, end = start - (end - now), now
        start = max(start, EARLIEST_TIME)
        is_possible = end - start >= SHORTEST and (longest is None or end - start <= longest)
        if is_possible and (start, end) != (shown.start, shown.end):
            found.append(Move(name, key, ShownPeriod(start, end).query))
    return found


def find_sections(shown: ShownPeriod) -> list[ShownPeriod]:
    """Return the parts of a period, each of which can be looked at alone."""
    step = shown.length / SECTIONS
    if step < SHORTEST:
        return []
    edges = [truncate_to_milliseconds(shown.start + step * n) for n in range(SECTIONS)] + [shown.end]
    return [ShownPeriod(start, end) for start, end in pairwise(edges)]


def local_text(at: datetime) -> str:
    """Return a time as the field of a browser has it: in the reader's time zone, to the second."""
    return timezone.localtime(at).strftime("%Y-%m-%dT%H:%M:%S")
