from collections.abc import Mapping
from typing import Any

from processes.workflows.engine.execution.errors import CommandFailed
from processes.workflows.engine.execution.limits import (
    MAX_EFFECTS,
    MAX_LOOKS,
    MAX_STEPS,
    MAX_VARIABLES,
    MAX_WEIGHED,
    weigh_value,
)


class Allowance:
    """What one command may take, and what its state may hold; past it the command fails at an element.

    A file is written by others: whatever it says, a command ends within seconds and its state stays small.
    """

    __slots__ = ("_effects", "_looks", "_steps", "_weighed", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        """What the state holds in variables, in bytes of JSON."""
        self._steps = 0
        self._looks = 0
        self._weighed = 0
        self._effects = 0

    def step(self, element: str) -> None:
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise CommandFailed(element, f"One command would go through more than {MAX_STEPS} elements.")

    def look(self, element: str, count: int = 1) -> None:
        """Count what is looked at again and again: expressions, tokens that a join waits for."""
        self._looks += count
        if self._looks > MAX_LOOKS:
            raise CommandFailed(
                element, f"One command would take more than {MAX_LOOKS} steps in expressions and joins."
            )

    def weigh(self, variables: Mapping[str, Any], element: str) -> int:
        return sum(len(name) + 4 + self.weigh_value(value, element) for name, value in variables.items())

    def weigh_value(self, value: object, element: str) -> int:
        weight = weigh_value(value)
        self._weighed += weight
        if self._weighed > MAX_WEIGHED:
            raise CommandFailed(element, f"One command would handle more than {MAX_WEIGHED} bytes of variables.")
        return weight

    def grow(self, by: int, element: str) -> None:
        self.size += by
        if by > 0 and self.size > MAX_VARIABLES:
            raise CommandFailed(element, f"The variables would take more than {MAX_VARIABLES} bytes.")

    def give(self, inputs: Mapping[str, Any], element: str) -> None:
        self._effects += self.weigh(inputs, element)
        if self._effects > MAX_EFFECTS:
            raise CommandFailed(element, f"The effects of one command would take more than {MAX_EFFECTS} bytes.")
