"""Whoever goes on asking for what it may not have hears the same again, from memory.

A refusal costs as much as many an answer: the key is looked up, its scope compared, a thread taken for it. Only what
was refused before the body was read is kept: the same call with another body would be refused too.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

from asgiref.typing import HTTPResponseStartEvent

from config.common.web.limits.buckets import Buckets

REFUSED = frozenset({401, 403})
REPEATED_AFTER = 20
"""Refusals in a row; whoever makes fewer is looked at each time."""
REPEATED_SECONDS = 1.0
"""So late a right that was just given is noticed by whoever asked for it all the while."""
MOST_REPEATED = 1000

Answer = tuple[HTTPResponseStartEvent, bytes]


class Refusals:
    """What callers were refused with a moment ago, and how often."""

    def __init__(self, buckets: Buckets, clock: Callable[[], float] = time.monotonic) -> None:
        self._buckets = buckets
        self._clock = clock
        self._answers: OrderedDict[Hashable, tuple[Answer, float]] = OrderedDict()

    def is_over(self, payer: Hashable) -> bool:
        """Say whether that has been so often that nothing but the rate is told any more."""
        return self._buckets.is_empty(payer)

    def count(self, payer: Hashable) -> None:
        self._buckets.take(payer)

    def remember(self, payer: Hashable, query: bytes, answer: Answer) -> None:
        """Keep an answer that the body of a call has no part in."""
        if self._buckets.missing(payer) < REPEATED_AFTER:
            return
        self._answers[payer, query] = answer, self._clock() + REPEATED_SECONDS
        self._answers.move_to_end((payer, query))
        if len(self._answers) > MOST_REPEATED:
            self._answers.popitem(last=False)

    def find(self, payer: Hashable, query: bytes) -> Answer | None:
        """Return the answer to give again; the connection is closed after it, for the body of the call is not read."""
        found = self._answers.get((payer, query))
        if found is None or self._clock() > found[1]:
            return None
        (start, body), _ = found
        headers = [header for header in start["headers"] if header[0].lower() != b"connection"]
        return {**start, "headers": [*headers, (b"connection", b"close")]}, body
