from datetime import UTC, datetime
from typing import Any

from processes.workflows.engine.feel import INPUT, Layer, Run, build_evaluator, parse_expression, parse_unary_tests
from processes.workflows.engine.feel.conversion import JsonNames, from_json, to_json

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def evaluate(text: str, **names: Any) -> Any:
    """Evaluate an expression at a fixed time; values are JSON on both sides."""
    run = Run(NOW)
    value = build_evaluator(parse_expression(text))(JsonNames(names, run.meter), run)
    return to_json(value, run.meter)


def put_to_tests(text: str, value: Any, **names: Any) -> Any:
    """Put a value to unary tests."""
    run = Run(NOW)
    around = Layer({INPUT: from_json(value, run.meter)}, JsonNames(names, run.meter))
    return build_evaluator(parse_unary_tests(text))(around, run)
