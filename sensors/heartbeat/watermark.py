"""Up to when every signal that was sent to the broker is known to us: the rule alone, over plain times.

Every consumer takes from one queue, so what is older than a probe may still lie with another consumer than the one that
met the probe: in its memory, in its socket, or with the broker on its behalf. The queue hands messages out in order,
though: when a probe was handed out, all that was sent before it had been handed out as well. So a probe proves its time
once every consumer has shown that what the broker had handed to it *by then* is committed. It shows that by a question
to the queue on the channel of its deliveries: the answer comes after all that the queue had sent there before
(`ingest/progress.py`).

What a consumer gives back, by its end or on purpose, is handed out a second time, behind probes that have passed: from
then on only probes count that are sent after it was back in the queue.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import TypeVar

Time = TypeVar("Time", datetime, int)


def proven_time(
    probes: Iterable[tuple[Time, Time]], marks: Iterable[Time], *, proven_from: Time | None = None
) -> Time | None:
    """Return the time before which every signal is committed, if there is one.

    `probes` are the times at which each was sent and had passed the queue, `marks` those before which all that a
    consumer was handed is committed, `proven_from` when messages were last given back.
    """
    slowest = min(marks, default=None)
    if slowest is None:
        return None
    proven = (sent for sent, passed in probes if passed <= slowest and (proven_from is None or sent >= proven_from))
    return max(proven, default=None)
