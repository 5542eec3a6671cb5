"""A decision on its page: its tables as tables, and a form to try it with values that are typed."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext

from processes.workflows.engine.dmn.inputs import list_inputs
from processes.workflows.engine.dmn.model import Decision, DecisionModel, DecisionTable, LiteralLogic
from processes.workflows.errors import DecisionFailed
from processes.workflows.models import WorkflowRevision
from processes.workflows.reasons import translate_reason
from processes.workflows.services.definitions.decisions import TriedDecision, try_decision
from processes.workflows.services.definitions.library import UnknownDefinition, get_compiled

LONGEST_TYPED = 2_000
PREFIX = "value."
RULES_SHOWN = 500
"""Of one table."""


@dataclass(frozen=True)
class TryField:
    name: str
    parameter: str
    type_name: str
    text: str


@dataclass(frozen=True)
class ShownRule:
    number: int
    inputs: Sequence[str]
    outputs: Sequence[str]
    annotation: str
    is_matched: bool


@dataclass(frozen=True)
class ShownDecision:
    decision: Decision
    table: DecisionTable | None
    rules: Sequence[ShownRule]
    more: int
    """Rules that are not shown."""
    text: str
    """Of a literal expression."""
    result: str
    """What it came to when it was tried, as JSON; empty: it was not."""


@dataclass(frozen=True)
class DecisionPage:
    fields: Sequence[TryField]
    decisions: Sequence[ShownDecision]
    """The decision itself first."""
    is_tried: bool
    failure: str


def build_decision_page(request: HttpRequest, revision: WorkflowRevision) -> DecisionPage | None:
    """Return what the page of a decision shows; None where the revision cannot be evaluated any more."""
    try:
        model = get_compiled(revision.definition_id, revision.number).decision
    except UnknownDefinition:
        return None
    if model is None:
        return None
    names = list_inputs(model)
    is_tried = "try" in request.GET
    tried, failure = None, ""
    if is_tried:
        # By the declared types; an empty field is null.
        values = {each.name: _read_value(_typed(request, each.name), each.type_name) for each in names}
        tried, failure = _try(revision, values)
    return DecisionPage(
        fields=[TryField(each.name, PREFIX + each.name, each.type_name, _typed(request, each.name)) for each in names],
        decisions=[_show(model, key, tried) for key in reversed(model.order)],
        is_tried=is_tried,
        failure=failure,
    )


def _try(revision: WorkflowRevision, values: Mapping[str, Any]) -> tuple[TriedDecision | None, str]:
    try:
        return try_decision(revision.definition_id, revision.number, values, at=timezone.now()), ""
    except DecisionFailed as failed:
        reason = translate_reason(failed.data["reason"])
        return None, gettext("“%(decision)s” has no result: %(reason)s") % {**failed.data, "reason": reason}


def _typed(request: HttpRequest, name: str) -> str:
    return request.GET.get(PREFIX + name, "")[:LONGEST_TYPED]


def _read_value(text: str, type_name: str) -> Any:
    if not text.strip():
        return None
    if type_name == "string":
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _show(model: DecisionModel, key: str, tried: TriedDecision | None) -> ShownDecision:
    decision = model.decisions[key]
    found = None
    if tried is not None:
        found = next(each for each in tried.evaluation.decisions if each.id == key)
    table = decision.logic if isinstance(decision.logic, DecisionTable) else None
    matched = {rule.number for rule in found.rules} if found is not None else set()
    rules = [] if table is None else table.rules
    return ShownDecision(
        decision=decision,
        table=table,
        rules=[
            ShownRule(
                number,
                [test.text or "-" for test in rule.inputs],
                [entry.text if entry is not None else "" for entry in rule.outputs],
                rule.annotation,
                is_matched=number in matched,
            )
            for number, rule in enumerate(rules[:RULES_SHOWN], start=1)
        ],
        more=max(len(rules) - RULES_SHOWN, 0),
        text=decision.logic.expression.text if isinstance(decision.logic, LiteralLogic) else "",
        result="" if found is None else json.dumps(found.result, ensure_ascii=False)[:LONGEST_TYPED],
    )
