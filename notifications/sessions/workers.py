"""What the workers of a repeater share: the repeats under way, the slots of each theme, the database connections.

A theme that hangs holds its own share of the workers and no more. A repeat that takes long is set aside: it goes on in
its thread, and a new worker takes the place of that thread.
"""

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
"""The repeats set aside for each worker, at most; beyond that a hanging repeat holds its worker."""
OPEN_SLOTS = 1
"""The slots of a theme whose breaker is open: the next repeat is also the probe."""
SLACK_SECONDS = 0.5
"""A webhook has its own time-out, which comes first."""

log = structlog.get_logger(__name__)


class RunningRepeat(Repeat):
    """A repeat in the hands of a repeater, waiting for a worker or run by one."""

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


@dataclass
class EndedRepeat:
    """An outcome that is still to be recorded."""

    outcome: Outcome
    is_written: threading.Event = field(default_factory=threading.Event)
    stood: bool = False
    """Whether the claim still stood when it was recorded."""


class ThemeSlots:
    """Counts the repeats under way by theme. The caller holds the lock of the repeater."""

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
        """Return how many more repeats of this theme may begin."""
        # When many themes hang at once each gets less: otherwise the last of them would find no thread left.
        is_crowded = self._slow >= MOST_SLOW * self._workers // 2
        most = OPEN_SLOTS if is_open or is_crowded else self._workers
        return max(0, most - self._under_way[number])

    def has_room(self, theme: Theme) -> bool:
        return self.free(theme.pk, is_open=theme.opened_at is not None) > 0

    def full(self) -> list[int]:
        """Return the themes that have used up their slots, whatever their breakers."""
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


def release_connections() -> None:
    """Close the connections of this thread that have lived long enough, as a web request does at its end."""
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            _close_quietly(connection.close_if_unusable_or_obsolete)


def close_connections() -> None:
    """Close the connections of this thread: others may need them while it has nothing to do."""
    _close_quietly(connections.close_all)


def _close_quietly(close: Callable[[], None]) -> None:
    """Close without raising: an error between two steps of a worker would upset the count of idle threads."""
    try:
        close()
    except Exception as error:  # noqa: BLE001  (whatever a dying connection raises)
        log.info("sessions.connection_not_closed", error=repr(error))
