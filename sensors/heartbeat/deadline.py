"""When a silent sensor counts as lost: pure arithmetic."""

from collections.abc import Iterable
from datetime import datetime, timedelta


def loss_deadline(*, seen_at: datetime, timeout: timedelta, deaf: Iterable[tuple[datetime, datetime]]) -> datetime:
    """Return the moment up to which silence is no loss.

    A time in which our own side was deaf is not silence: after it the sensor has its whole timeout again, counted from
    when we heard again, but a side that keeps going deaf cannot put a loss off for ever: twice the timeout of hearing
    is enough.
    """
    since = [(begin, end) for begin, end in deaf if end > seen_at]
    deaf_time = sum((end - max(begin, seen_at) for begin, end in since), timedelta())
    hearing_again = max((end for _, end in since), default=seen_at)
    return min(hearing_again + timeout, seen_at + 2 * timeout + deaf_time)
