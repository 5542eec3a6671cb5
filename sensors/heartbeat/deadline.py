"""When a silent sensor counts as lost, and an open door as left open: pure arithmetic."""

from collections.abc import Iterable
from datetime import datetime, timedelta


def loss_deadline(*, heard_at: datetime, timeout: timedelta, outages: Iterable[tuple[datetime, datetime]]) -> datetime:
    """Return the time up to which silence is no loss.

    An outage on our own side is not silence: after it the sensor has its whole timeout again. But outages that keep
    coming cannot put a loss off for ever: twice the timeout outside of them is enough.
    """
    since = sorted((max(begin, heard_at), end) for begin, end in outages if end > heard_at)
    outage_time, listening_again = timedelta(), heard_at
    for begin, end in since:
        # Both ways in are away while the whole product is: that time counts once.
        outage_time += max(timedelta(), end - max(begin, listening_again))
        listening_again = max(listening_again, end)
    return min(listening_again + timeout, heard_at + 2 * timeout + outage_time)


def open_deadline(*, heard_at: datetime, limit: timedelta, outages: Iterable[tuple[datetime, datetime]]) -> datetime:
    """Return the time at which a door has been known to be open for as long as it may: outages do not count."""
    deadline, counted_to = heard_at + limit, heard_at
    for begin, end in sorted(outages):
        begin, end = max(begin, counted_to), max(end, counted_to)
        if begin >= deadline:
            break
        deadline += end - begin
        counted_to = end
    return deadline
