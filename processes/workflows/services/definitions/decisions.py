"""Evaluate a published decision to try it: nothing is stored."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext

from config.common.errors import Invalid
from processes.workflows.engine.dmn.evaluation import Evaluation, EvaluationFailed, evaluate_decision
from processes.workflows.engine.execution.limits import MAX_VARIABLES, estimate_size, is_json
from processes.workflows.errors import DecisionFailed, DefinitionNotFound, NoDecision, RevisionNotFound
from processes.workflows.services.definitions.library import UnknownDefinition, find_newest, get_compiled


@dataclass(frozen=True)
class TriedDecision:
    revision: int
    evaluation: Evaluation


def try_decision(key: str, revision: int | None, variables: Mapping[str, Any], *, at: datetime) -> TriedDecision:
    """Evaluate a revision of a decision, or the newest; raises DecisionFailed where it has no result."""
    if estimate_size(variables) > MAX_VARIABLES or not is_json(dict(variables)):
        raise Invalid({"variables": [gettext("Nested too deeply, too large, or not JSON.")]})
    newest = find_newest(key)
    if newest is None:
        raise DefinitionNotFound
    number = revision or newest[0]
    try:
        model = get_compiled(key, number).decision
    except UnknownDefinition as error:
        raise RevisionNotFound from error
    if model is None:
        raise NoDecision
    try:
        return TriedDecision(number, evaluate_decision(model, variables, at=at))
    except EvaluationFailed as failed:
        raise DecisionFailed(decision=failed.decision, reason=failed.reason) from failed
