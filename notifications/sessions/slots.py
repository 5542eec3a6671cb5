"""How many repeats of a theme one process may have under way: a theme that hangs holds its own share and no more.

A repeat that takes long is set aside: it goes on in a thread of its own, and its worker's place is free for others.
"""

from collections import Counter

from notifications.models import Theme

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
