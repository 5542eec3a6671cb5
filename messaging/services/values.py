from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.utils.translation import gettext

from config.common.errors import Invalid
from config.common.times import parse_time

EARLIEST = datetime(2020, 1, 1, tzinfo=UTC)
AHEAD = timedelta(minutes=5)


@dataclass(frozen=True)
class Limits:
    """How much one answer may hold."""

    files: int
    bytes: int


def read_created_at(text: str | None, *, at: datetime, field: str = "created_at") -> datetime:
    """Return the time a message was made: as its sender says, else the time of receipt."""
    if text is None:
        return at
    try:
        created_at = parse_time(text)
    except ValueError as error:
        raise Invalid({field: [gettext("Must be a time such as 2026-01-31T23:59:59.000Z.")]}) from error
    if not EARLIEST <= created_at <= at + AHEAD:
        rule = gettext("Must not be before 2020 or more than five minutes in the future.")
        raise Invalid({field: [rule]})
    return created_at
