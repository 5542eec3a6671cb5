"""Limits: how large a state may grow and how much one command may do."""

import math
from collections.abc import Mapping
from typing import Any

from processes.workflows.engine.execution.errors import CommandFailed

MAX_STEPS = 10_000
"""Elements entered by one command."""
MAX_TOKENS = 10_000
MAX_ITEMS = 2_001
MAX_ROUNDS = 10_000
MAX_CALLS = 20
"""Call activities inside one another."""
MAX_HOPS = 100
"""How often events, handlers and timers without a wait may lead to one another without a command from outside."""
LEAST_WAIT = 1.0
"""Seconds: a timer that waits for less counts as such a hop."""
LONG_WAIT = 60.0
"""Seconds: a timer that waits this long resets the chain, for it cannot fire often."""
MAX_SCOPES_DEEP = 100
"""Sub-processes, rounds and calls inside one another. One file stays within it: see `bpmn.outline.MAX_NESTED`."""
MAX_VARIABLES = 1_000_000
"""Bytes of JSON that variables, and what is kept of them elsewhere in the state, may take in all."""
MAX_EFFECTS = 16_000_000
"""Bytes of JSON that the effects of one command may take in all."""
MAX_CHECKS = 200_000
"""Steps that expressions take, and tokens looked at for joins, by one command."""
VISITS_PER_CHECK = 10
"""Elements upstream of a join that are found in the time of one such step."""
MAX_UPSTREAM = 20_000
"""Elements in a definition's cache of what lies upstream of its joins: about two megabytes."""
MAX_MEASURED = 100_000_000
"""Bytes of JSON that one command may write, copy and remove in all."""
MAX_ENTRIES = 10_000
"""Completed activities that can be compensated."""
MAX_NAME = 100
MAX_DEPTH = 50
MAX_INTEGER = 2**63


def estimate_size(variables: Mapping[str, Any]) -> int:
    """Return about how many bytes variables take as JSON."""
    return sum(len(name) + 4 + estimate_value_size(value) for name, value in variables.items())


def estimate_value_size(value: object) -> int:
    """Return about how many bytes a value takes as JSON.

    A value may contain the same large list a hundred times and be much larger in JSON than in memory, so counting stops
    past the limit; a value nested too deeply counts as past the limit.
    """
    kind = type(value)
    if kind is str:
        return _estimate_text_size(value)  # type: ignore[arg-type]
    if kind is not list and kind is not dict:
        return 8  # a number, a boolean or null
    weight = 0
    level = [value]
    for _ in range(MAX_DEPTH):
        below: list[object] = []
        for part in level:
            kind = type(part)
            if kind is str:
                weight += _estimate_text_size(part)  # type: ignore[arg-type]
            elif kind is list or kind is dict:
                weight += _estimate_container_size(part, below)  # type: ignore[arg-type]
                if weight + len(below) > MAX_VARIABLES:
                    return weight + len(below)
            else:
                weight += 8
        if weight > MAX_VARIABLES or not below:
            return weight
        level = below
    return MAX_VARIABLES + 1


def _estimate_container_size(part: list[object] | dict[str, object], below: list[object]) -> int:
    """Return the size of a list or a map without its parts, which are added to `below`."""
    if isinstance(part, list):
        below.extend(part)
        return 2 + len(part)
    below.extend(part.values())
    return 2 + sum(_estimate_text_size(key) + 2 for key in part)


def _estimate_text_size(text: str) -> int:
    # Beyond ASCII a character takes two to four bytes of UTF-8.
    return len(text) + 2 if text.isascii() else len(text) * 3 + 2


def is_name(name: object) -> bool:
    """Return whether a text can be the name of a variable in an expression."""
    return isinstance(name, str) and len(name) <= MAX_NAME and name.isidentifier()


def is_json(value: object, depth: int = 0) -> bool:
    """Return whether a value survives a round trip through JSON unchanged."""
    if value is None or isinstance(value, bool):
        return True
    if isinstance(value, str):
        # A lone surrogate has no UTF-8, so no database would store it.
        return value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value)
    if isinstance(value, int):
        return -MAX_INTEGER <= value < MAX_INTEGER
    if isinstance(value, float):
        return math.isfinite(value)
    if depth == MAX_DEPTH:
        return False
    if isinstance(value, list):
        return all(is_json(item, depth + 1) for item in value)
    if isinstance(value, dict):
        return all(isinstance(key, str) and is_json(item, depth + 1) for key, item in value.items())
    return False


class CommandBudget:
    """Counts what one command does and what its state holds; past a limit the command fails at an element.

    Definitions are uploaded: whatever a file says, a command ends within seconds and its state stays small.
    """

    __slots__ = ("_checks", "_effects", "_measured", "_steps", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        """What the state holds in variables, in bytes of JSON."""
        self._steps = 0
        self._checks = 0
        self._measured = 0
        self._effects = 0

    def count_step(self, element: str) -> None:
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise CommandFailed(element, f"One command would go through more than {MAX_STEPS} elements.")

    def count_checks(self, element: str, count: int = 1) -> None:
        """Count what can repeat for every token or item: steps of expressions, tokens looked at for a join."""
        self._checks += count
        if self._checks > MAX_CHECKS:
            raise CommandFailed(
                element, f"One command would take more than {MAX_CHECKS} steps in expressions and joins."
            )

    def measure(self, variables: Mapping[str, Any], element: str) -> int:
        return sum(len(name) + 4 + self.measure_value(value, element) for name, value in variables.items())

    def measure_value(self, value: object, element: str) -> int:
        weight = estimate_value_size(value)
        self._measured += weight
        if self._measured > MAX_MEASURED:
            raise CommandFailed(element, f"One command would handle more than {MAX_MEASURED} bytes of variables.")
        return weight

    def add_size(self, by: int, element: str) -> None:
        self.size += by
        if by > 0 and self.size > MAX_VARIABLES:
            raise CommandFailed(element, f"The variables would take more than {MAX_VARIABLES} bytes.")

    def count_effect(self, inputs: Mapping[str, Any], element: str) -> None:
        self._effects += self.measure(inputs, element)
        if self._effects > MAX_EFFECTS:
            raise CommandFailed(element, f"The effects of one command would take more than {MAX_EFFECTS} bytes.")
