"""Scenarios of a decision: variables that are given, and what must come of them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from processes.workflows.engine.dmn.evaluation import EvaluatedDecision, evaluate_decision
from processes.workflows.engine.dmn.model import DecisionModel, DecisionTable


def check_decision(
    model: DecisionModel, variables: Mapping[str, Any], steps: Sequence[Mapping[str, Any]], *, at: datetime
) -> tuple[list[str], list[str]]:
    """Evaluate a decision for a scenario; return the ids of the rules that match, and what is not as expected.

    A step is `expect` alone: `variables` names outputs, or `result` for the whole, `passes` and `avoids` name rules.
    Raises EvaluationFailed.
    """
    found = evaluate_decision(model, variables, at=at).main
    rules = [rule.id for rule in found.rules]
    failures = [
        f"Step {number}: {failure}"
        for number, step in enumerate(steps, start=1)
        for failure in _compare(step, found, rules)
    ]
    return rules, failures


def list_rules(model: DecisionModel) -> list[str]:
    """Return the ids of the rules of a decision's table, which scenarios may cover."""
    logic = model.main.logic
    return [rule.id for rule in logic.rules if rule.id] if isinstance(logic, DecisionTable) else []


def find_different_values(values: Mapping[str, Any], expected: Mapping[str, Any]) -> Iterator[str]:
    """Yield for each value that is not as expected what it is instead."""
    for name, value in expected.items():
        if name not in values:
            yield f"there is no {name}."
        elif values[name] != value:
            found, other = (json.dumps(each, ensure_ascii=False, default=str)[:100] for each in (values[name], value))
            yield f"{name} is {found}, not {other}."


def _compare(step: Mapping[str, Any], found: EvaluatedDecision, rules: Sequence[str]) -> Iterator[str]:
    expected = step.get("expect")
    if not isinstance(expected, Mapping):
        yield "a decision is evaluated at once: only expect has a meaning."
        return
    outputs = _name_outputs(found)
    yield from find_different_values(outputs, expected.get("variables", {}))
    for rule in expected.get("passes", ()):
        if rule not in rules:
            yield f"the rule {rule} does not match."
    for rule in expected.get("avoids", ()):
        if rule in rules:
            yield f"the rule {rule} matches."


def _name_outputs(found: EvaluatedDecision) -> dict[str, Any]:
    """Return the outputs by their names, and the whole as `result`."""
    names = dict.fromkeys(name for row in found.rows for name in row)
    if found.is_single:
        named = {name: row[name] for row in found.rows[:1] for name in names}
    else:
        named = {name: [row[name] for row in found.rows] for name in names}
    return {"result": found.result, **named}
