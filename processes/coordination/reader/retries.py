"""Retries of events whose judgement was broken off by a lock or a deadlock: each alone, a few times, ever later.

In the memory of the role: after a restart an event has all its tries again.
"""

import time
from collections.abc import Collection
from dataclasses import dataclass

TRIES = 5
FIRST_REST = 1.0
"""Seconds; each further rest is twice as long."""


@dataclass
class _Retry:
    reason: str
    tries: int = 0
    rests_until: float = 0.0


class BusyRetries:
    def __init__(self) -> None:
        self._events: dict[int, _Retry] = {}

    def __bool__(self) -> bool:
        return bool(self._events)

    def note(self, events: Collection[int], reason: str) -> None:
        """Record that events could not be judged; one that was alone rests before its next try."""
        for event in events:
            retry = self._events.setdefault(event, _Retry(reason))
            retry.reason = reason
            if len(events) == 1:
                retry.rests_until = time.monotonic() + FIRST_REST * 2**retry.tries
                retry.tries += 1

    def resting(self) -> list[int]:
        now = time.monotonic()
        return [event for event, retry in self._events.items() if retry.rests_until > now]

    def portion(self, events: list[int]) -> list[int]:
        """Return the first of the events that may be judged together; one that has failed before is alone."""
        apart = next((place for place, event in enumerate(events) if event in self._events), len(events))
        return events[: max(apart, 1)]

    def exhausted(self, events: Collection[int]) -> dict[int, str]:
        """Return the last errors of those of the events that have been tried often enough."""
        noted = ((event, self._events.get(event)) for event in events)
        return {event: each.reason for event, each in noted if each is not None and each.tries >= TRIES}

    def clear(self, events: Collection[int]) -> None:
        for event in events:
            self._events.pop(event, None)


class UnusableMessages:
    """Events with a message that could not be handled lately: asking for it at once would only bring it again."""

    FOR_SECONDS = 5.0

    def __init__(self) -> None:
        self._reasons: dict[int, tuple[str, float]] = {}

    def note(self, event: int, reason: str) -> None:
        self._reasons[event] = reason, time.monotonic() + self.FOR_SECONDS

    def reasons(self) -> dict[int, str]:
        now = time.monotonic()
        self._reasons = {event: noted for event, noted in self._reasons.items() if noted[1] > now}
        return {event: reason for event, (reason, _) in self._reasons.items()}
