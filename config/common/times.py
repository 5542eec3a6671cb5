"""Times as the outside world writes them: RFC 3339, UTC, milliseconds."""

import re
from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)

_RFC_3339 = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,30})?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)


def parse_time(text: str) -> datetime:
    """Read a time that names its offset, as UTC cut to milliseconds; anything else is a `ValueError`."""
    if not _RFC_3339.fullmatch(text):
        raise ValueError("not a time of RFC 3339 with an offset")
    try:
        return truncate_to_milliseconds(datetime.fromisoformat(text.upper()).astimezone(UTC))
    except OverflowError as error:
        raise ValueError("outside of the years 1 to 9999") from error


def truncate_to_milliseconds(moment: datetime) -> datetime:
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def format_time(moment: datetime) -> str:
    """Write a time as `2026-01-31T23:59:59.000Z`; one without an offset counts as UTC."""
    if moment.tzinfo is not None and moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def to_milliseconds(at: datetime) -> int:
    """Return a time as whole milliseconds since 1970; the rest is cut off."""
    return (at - EPOCH) // MILLISECOND


def from_milliseconds(at: int) -> datetime:
    return EPOCH + timedelta(milliseconds=at)
