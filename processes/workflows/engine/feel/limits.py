"""Limits on the text and on the evaluation of FEEL: they keep a decision to milliseconds and megabytes."""

from processes.workflows.engine.feel.errors import FeelFailed

MAX_TEXT = 4_000
MAX_NODES = 500
"""Parts of one expression."""
MAX_DEPTH = 40
"""Brackets inside one another."""
MAX_HEIGHT = 100
"""Of the tree of an expression: as many operators follow one another."""
MAX_STEPS = 100_000
"""Steps of one evaluation of a decision with everything that it requires."""
MAX_STRING = 100_000
MAX_ITEMS = 10_000
MAX_DIGITS = 34
"""Of a number: decimal128, as the standard says."""
MAX_POWER = 1_000
MAX_CALLS = 10
"""Functions of the file inside one another."""

ITEMS_PER_STEP = 10
CHARACTERS_PER_STEP = 100


class Meter:
    """Counts the steps of one evaluation; what repeats counts as often as it repeats."""

    __slots__ = ("_left", "_most")

    def __init__(self, most: int = MAX_STEPS) -> None:
        self._left = self._most = most

    @property
    def spent(self) -> int:
        return self._most - self._left

    def spend(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise FeelFailed(f"The decision would take more than {self._most:,} steps.")

    def spend_items(self, count: int) -> None:
        if count > MAX_ITEMS:
            raise FeelFailed(f"A list of more than {MAX_ITEMS:,} items cannot be processed.")
        self.spend(1 + count // ITEMS_PER_STEP)

    def spend_characters(self, count: int) -> None:
        if count > MAX_STRING:
            raise FeelFailed(f"A text of more than {MAX_STRING:,} characters cannot be processed.")
        self.spend(1 + count // CHARACTERS_PER_STEP)
