"""When a silent sensor counts as lost: pure arithmetic."""

from collections.abc import Iterable
from datetime import datetime, timedelta


def loss_deadline(*, heard_at: datetime, timeout: timedelta, deaf: Iterable[tuple[datetime, datetime]]) -> datetime:
    """Return the moment up to which silence is no loss.

    A time in which our own side was deaf is not silence: after it the sensor has its whole timeout again, counted from
    when we heard again, but a side that keeps going deaf cannot put a loss off for ever: twice the timeout of hearing
    is enough.
    """
    since = sorted((max(begin, heard_at), end) for begin, end in deaf if end > heard_at)
    deaf_time, hearing_again = timedelta(), heard_at
    for begin, end in since:
        # Both ways in are away while the whole product is: that time counts once.
        deaf_time += max(timedelta(), end - max(begin, hearing_again))
        hearing_again = max(hearing_again, end)
    return min(hearing_again + timeout, heard_at + 2 * timeout + deaf_time)
