"""What the workers of a repeater share: the repeats under way, the slots of each theme, the database connections."""

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog
from django.db import connections

from notifications.models import Theme
from notifications.sessions.claims import Claim
from notifications.sessions.outcomes import Outcome
from notifications.sessions.repeat import Repeat

SLOW_SECONDS = 1.0
"""A repeat that takes longer is set aside."""
MOST_SLOW = 8
"""Repeats that are set aside for each worker, at most; beyond that a hanging repeat holds its worker."""
OPEN_SLOTS = 1
"""Of a theme whose breaker is open: the next repeat is also the probe."""


class ThemeSlots:
    """Counts what is under way by theme; whoever calls holds the lock of the repeater."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._under_way: Counter[int] = Counter()
        self._slow = 0

    @property
    def slow(self) -> int:
        return self._slow

    @property
    def may_set_aside(self) -> bool:
        return self._slow < MOST_SLOW * self._workers

    def free(self, number: int, *, is_open: bool) -> int:
        """Return how many more of this theme may begin."""
        return max(0, self._most(is_open=is_open) - self._under_way[number])

    def has_room(self, theme: Theme) -> bool:
        return self.free(theme.pk, is_open=theme.opened_at is not None) > 0

    def full(self) -> list[int]:
        """Return the themes that have used up their slots, breakers aside."""
        return sorted(number for number in self._under_way if not self.free(number, is_open=False))

    def take(self, theme: Theme) -> None:
        self._under_way[theme.pk] += 1

    def set_aside(self) -> None:
        self._slow += 1

    def give_back(self, theme: Theme, *, was_slow: bool) -> None:
        self._slow -= was_slow
        self._under_way[theme.pk] -= 1
        if not self._under_way[theme.pk]:
            del self._under_way[theme.pk]

    def _most(self, *, is_open: bool) -> int:
        """Many themes that hang at once get less each: otherwise the last of them would find no thread left."""
        is_crowded = self._slow >= MOST_SLOW * self._workers // 2
        return OPEN_SLOTS if is_open or is_crowded else self._workers


SLACK_SECONDS = 0.5
"""A webhook has its own time-out, which comes first."""


@dataclass
class EndedRepeat:
    outcome: Outcome
    is_written: threading.Event = field(default_factory=threading.Event)
    stood: bool = False


class RunningRepeat(Repeat):
    def __init__(self, claim: Claim) -> None:
        super().__init__(claim)
        self.renewed = self.claimed = self.began = time.monotonic()
        self.is_settled = False
        self.is_abandoned = False
        self.is_slow = False
        """Set aside: its thread ends with it, and another has taken its place."""

    @property
    def deadline(self) -> float:
        return self.touched + self.claim.theme.timeout + SLACK_SECONDS


log = structlog.get_logger(__name__)


def release_connections() -> None:
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            _close_quietly(connection.close_if_unusable_or_obsolete)


def close_connections() -> None:
    _close_quietly(connections.close_all)


def _close_quietly(close: Callable[[], None]) -> None:
    """A worker counts its places by its own steps: an error between two of them would make one too many or too few."""
    try:
        close()
    except Exception as error:  # noqa: BLE001  (whatever a dying connection raises)
        log.info("sessions.connection_not_closed", error=repr(error))
