"""Judge what the tests of a row said: each of them must have failed, by an assertion or what the row names."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

ASSERTIONS = ("AssertionError", "Failed")


@dataclass(frozen=True)
class Outcomes:
    """What pytest said of each test, by its name: when, and how it ended."""

    tests: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    code: int = 0

    @classmethod
    def read(cls, file: Path, code: int) -> "Outcomes":
        tests: dict[str, list[tuple[str, str]]] = {}
        for line in file.read_text().splitlines() if file.exists() else ():
            test, when, outcome = json.loads(line)
            tests.setdefault(test, []).append((when, outcome))
        return cls(tests, code)

    def find_fault(self) -> str:
        """Return why these are no outcomes of tests at all; empty where they are."""
        broken = sorted(test for test, ends in self.tests.items() for when, _ in ends if when == "collect")
        if broken:
            return f"cannot be collected: {broken[0]}"
        if self.code not in (0, 1) or not self.tests:
            return f"pytest ended with {self.code}"
        return ""

    def has_noticed(self, named: str, kinds: Sequence[str]) -> bool:
        """Return whether a test, or one of those in it, has failed in the right way."""
        right = {*ASSERTIONS, *kinds}
        return any(when == "call" and outcome in right for when, outcome in self._of(named))

    def has_passed(self, named: str) -> bool:
        ends = self._of(named)
        return bool(ends) and all(outcome == "passed" for _, outcome in ends)

    def describe(self, named: str) -> str:
        """Return how it ended, in few words."""
        ends = {outcome if when == "call" else f"{outcome} in {when}" for when, outcome in self._of(named)}
        return ", ".join(sorted(ends)) or "did not run"

    def _of(self, named: str) -> list[tuple[str, str]]:
        return [
            end
            for test, ends in self.tests.items()
            if test == named or test.startswith((f"{named}::", f"{named}["))
            for end in ends
        ]


def judge(outcomes: Outcomes, named: Sequence[str], kinds: Sequence[str]) -> str:
    """Return what is wrong: a test that has not noticed; empty where all have."""
    fault = outcomes.find_fault()
    if fault:
        return fault
    unnoticed = [test for test in named if not outcomes.has_noticed(test, kinds)]
    return "; ".join(f"{test}: {outcomes.describe(test)}" for test in unnoticed)


def judge_survivor(outcomes: Outcomes, named: Sequence[str]) -> str:
    """Return what is wrong with one that is to survive by its guard: a test that has noticed it alone."""
    fault = outcomes.find_fault()
    if fault:
        return fault
    noticed = [test for test in named if not outcomes.has_passed(test)]
    return "; ".join(f"noticed alone, so it is not redundant: {test}: {outcomes.describe(test)}" for test in noticed)
