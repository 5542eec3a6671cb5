"""Events whose judgement a lock or a deadlock has broken off: each is tried alone, later and later, a few times.

Kept in the memory of the role: one that starts anew has all tries before it again.
"""

import time
from collections.abc import Collection
from dataclasses import dataclass

TRIES = 5
FIRST_REST = 1.0
"""Seconds; each further rest is twice as long."""


@dataclass
class _Setback:
    reason: str
    tries: int = 0
    rests_until: float = 0.0


class BusyRetries:
    def __init__(self) -> None:
        self._events: dict[int, _Setback] = {}

    def __bool__(self) -> bool:
        return bool(self._events)

    def note(self, events: Collection[int], reason: str) -> None:
        """Note that these could not be judged together; one that was alone rests."""
        for event in events:
            setback = self._events.setdefault(event, _Setback(reason))
            setback.reason = reason
            if len(events) == 1:
                setback.rests_until = time.monotonic() + FIRST_REST * 2**setback.tries
                setback.tries += 1

    def resting(self) -> list[int]:
        now = time.monotonic()
        return [event for event, setback in self._events.items() if setback.rests_until > now]

    def portion(self, events: list[int]) -> list[int]:
        """Return the first of the events that may be judged together: one that had a setback is alone."""
        apart = next((place for place, event in enumerate(events) if event in self._events), len(events))
        return events[: max(apart, 1)]

    def given_up(self, events: Collection[int]) -> dict[int, str]:
        """Return why, of those of the events that have been tried often enough."""
        noted = ((event, self._events.get(event)) for event in events)
        return {event: each.reason for event, each in noted if each is not None and each.tries >= TRIES}

    def forget(self, events: Collection[int]) -> None:
        for event in events:
            self._events.pop(event, None)


class UnusableMessages:
    """Events of which a message could not be used lately: asking for it again at once would only bring it again."""

    FOR_SECONDS = 5.0

    def __init__(self) -> None:
        self._reasons: dict[int, tuple[str, float]] = {}

    def note(self, event: int, reason: str) -> None:
        self._reasons[event] = reason, time.monotonic() + self.FOR_SECONDS

    def reasons(self) -> dict[int, str]:
        now = time.monotonic()
        self._reasons = {event: noted for event, noted in self._reasons.items() if noted[1] > now}
        return {event: reason for event, (reason, _) in self._reasons.items()}
