"""Limits on the text and on the evaluation of an expression: they keep any of them to milliseconds and megabytes."""

from processes.workflows.engine.expressions.errors import ExpressionFailed

MAX_TEXT = 2_000
MAX_NODES = 500
MAX_DEPTH = 50
MAX_STEPS = 10_000
MAX_STRING = 100_000
MAX_ITEMS = 10_000
MAX_INTEGER = 10**18

ITEMS_PER_STEP = 10
CHARACTERS_PER_STEP = 100


class Meter:
    """Counts the steps of one evaluation.

    Every part of an expression runs at most once, so only operations whose cost grows with the data are counted.
    """

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = MAX_STEPS

    @property
    def spent(self) -> int:
        return MAX_STEPS - self._left

    def spend_items(self, count: int) -> None:
        if count > MAX_ITEMS:
            raise ExpressionFailed(f"a list or map of more than {MAX_ITEMS:,} items cannot be processed")
        self._spend(1 + count // ITEMS_PER_STEP)

    def spend_characters(self, count: int) -> None:
        if count > MAX_STRING:
            raise ExpressionFailed(f"a text of more than {MAX_STRING:,} characters cannot be processed")
        self._spend(1 + count // CHARACTERS_PER_STEP)

    def _spend(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise ExpressionFailed(f"more than {MAX_STEPS:,} steps")
