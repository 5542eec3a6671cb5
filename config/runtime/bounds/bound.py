"""What a row of the table is, and how its numbers are written."""

import re
from dataclasses import dataclass
from datetime import timedelta

from config.environment.read import read_environment

DEFAULTS = read_environment({})
"""The settings of an installation that has set none."""

INVALID, TOO_LARGE, BAD_JSON = "400 `invalid`", "413 `too_large`", "400 `bad_json`"
BUSY = "503 `busy`, `Retry-After`"


@dataclass(frozen=True)
class Bound:
    """One limit: how much of what, counted for whom, and what the one that goes past it is answered."""

    name: str
    what: str
    limit: str
    per: str
    past: str
    setting: str = ""

    def __post_init__(self) -> None:
        if re.match(r"0(?![.,\d])", self.limit):
            raise ValueError(f"The limit of {self.name} reads {self.limit!r}: write it in a smaller unit.")


def count(number: float, unit: str = "") -> str:
    if number != int(number):
        raise ValueError(f"{number} is not a count.")
    return f"{int(number):,} {unit}".rstrip()


def size(number: int) -> str:
    """Write a number of bytes."""
    for unit, name in ((1_048_576, "MiB"), (1024, "KiB")):
        if number % unit == 0:
            return f"{number // unit:,} {name}"
    return count(number, "bytes")


def megabytes(number: int) -> str:
    return f"{number:,} MiB"


def percent(share: float) -> str:
    return f"{share:.0%}"


def span(time: float | timedelta) -> str:
    """Write a time, in seconds or as it is, in the largest unit that fits."""
    seconds = time.total_seconds() if isinstance(time, timedelta) else time
    for unit, name in ((86_400, "days"), (3600, "h"), (60, "min")):
        if seconds > unit and seconds % unit == 0:
            return f"{seconds // unit:g} {name}"
    return f"{seconds:g} s"
