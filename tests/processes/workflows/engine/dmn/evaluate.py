from datetime import UTC, datetime
from typing import Any

from processes.workflows.engine.dmn.evaluation import Evaluation, evaluate_decision
from processes.workflows.engine.parser import parse_definition

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def decide(source: bytes, key: str = "", /, **variables: Any) -> Evaluation:
    """Evaluate a decision of a file, or its main one."""
    model = parse_definition(source, key or None).decision
    assert model is not None
    return evaluate_decision(model, variables, at=NOW)
