import pytest

from processes.workflows.engine.execution.errors import CommandFailed
from processes.workflows.engine.execution.limits import (
    MAX_CHECKS,
    MAX_EFFECTS,
    MAX_MEASURED,
    MAX_STEPS,
    MAX_VARIABLES,
    CommandBudget,
    estimate_size,
)

MILLION = {"x": "y" * 999_993}
"""Variables that weigh a million bytes."""


class TestCommandBudget:
    """What one command may take is taken to the last of it, and not one more."""

    def test_steps(self) -> None:
        budget = CommandBudget(0)
        for _ in range(MAX_STEPS):
            budget.count_step("a")
        with pytest.raises(CommandFailed, match="10000 elements"):
            budget.count_step("a")

    def test_looks(self) -> None:
        budget = CommandBudget(0)
        budget.count_checks("a", MAX_CHECKS)
        with pytest.raises(CommandFailed, match="200000 steps"):
            budget.count_checks("a")

    def test_bytes_that_are_weighed(self) -> None:
        budget = CommandBudget(0)
        for _ in range(MAX_MEASURED // 1_000_000):
            budget.measure_value("y" * 999_998, "a")
        with pytest.raises(CommandFailed, match="100000000 bytes"):
            budget.measure_value("", "a")

    def test_bytes_of_variables(self) -> None:
        budget = CommandBudget(0)
        budget.add_size(MAX_VARIABLES, "a")
        with pytest.raises(CommandFailed, match="1000000 bytes"):
            budget.add_size(1, "a")

    def test_bytes_of_effects(self) -> None:
        budget = CommandBudget(0)
        for _ in range(MAX_EFFECTS // estimate_size(MILLION)):
            budget.count_effect(MILLION, "a")
        with pytest.raises(CommandFailed, match="16000000 bytes"):
            budget.count_effect({"": 1}, "a")
