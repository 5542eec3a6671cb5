"""Problems of a file: everything that keeps it from running, by element and line."""

from dataclasses import dataclass, field
from typing import NoReturn

MOST_PROBLEMS = 100
"""Enough for an author to work on; the parsing ends there."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One reason, with the id of the element (empty: the file itself) and its line in the file (0: unknown)."""

    element: str
    line: int
    message: str
    name: str = ""
    """The element's name, as its author knows it; empty: it has none."""


class InvalidDefinition(Exception):
    """The file cannot be run; `problems` says why, everything at once."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("; ".join(f"{problem.element}: {problem.message}" for problem in problems[:3]))
        self.problems = problems


@dataclass(slots=True)
class Problems:
    """Collects the problems of a file while it is parsed."""

    found: list[Problem] = field(default_factory=list)

    def add(self, element: str, line: int, message: str) -> None:
        """Add a problem; the last one that is kept ends the parsing."""
        problem = Problem(element[:200], line, message)
        if problem not in self.found:  # several elements may refer to the one that is wrong
            self.found.append(problem)
        if len(self.found) >= MOST_PROBLEMS:
            self.raise_if_any()

    def abort(self, element: str, line: int, message: str) -> NoReturn:
        """End the parsing here, because whatever follows would take too long."""
        self.found = [*self.found[: MOST_PROBLEMS - 1], Problem(element[:200], line, message)]
        raise InvalidDefinition(self.in_order())

    def has_problem_with(self, element: str) -> bool:
        """Return whether an element has a problem already."""
        return any(problem.element == element for problem in self.found)

    def raise_if_any(self) -> None:
        """Raise InvalidDefinition with the problems found, if there are any."""
        if self.found:
            raise InvalidDefinition(self.in_order())

    def in_order(self) -> tuple[Problem, ...]:
        return tuple(sorted(self.found, key=lambda problem: problem.line))
