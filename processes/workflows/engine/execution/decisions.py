"""Decisions that a process or a case calls: evaluated at once, their results written to variables."""

from typing import Any

from processes.workflows.engine.definition import DecisionCall, Node, ResultMapping
from processes.workflows.engine.dmn.evaluation import EvaluatedDecision, EvaluationFailed, evaluate_decision
from processes.workflows.engine.execution.calls import find_called
from processes.workflows.engine.execution.errors import CommandFailed
from processes.workflows.engine.execution.limits import is_name
from processes.workflows.engine.execution.records import DecisionNote, Variables
from processes.workflows.engine.execution.unit_of_work import UnitOfWork
from processes.workflows.engine.execution.variables import VisibleVariables, evaluate, get_visible, write_results

STEPS_PER_CHECK = 4
"""Steps of a decision that take as long as one of an expression."""
MAX_RULES_NOTED = 20
MAX_NOTES = 1_000
"""Different decisions and elements of one command: as many as elements that call decisions, as a rule far fewer."""


def call_decision(work: UnitOfWork, scope: str, node: Node, inputs: Variables) -> None:
    """Evaluate a task's decision, the newest revision or the one named, for its inputs over what is visible."""
    element, call = node.id, node.decision
    assert call is not None
    key: Any = call.key
    if call.expression is not None:
        key = evaluate(work, call.expression, scope, element)
    if not isinstance(key, str) or not key:
        raise CommandFailed(element, "The expression does not return the key of a definition.")
    definition, revision = find_called(work, scope, element, key, call.revision)
    if definition.decision is None:
        raise CommandFailed(element, f"{key} is not a decision.")
    try:
        names = VisibleVariables((inputs, get_visible(work, scope)))
        found = evaluate_decision(definition.decision, names, at=work.at)
    except EvaluationFailed as failed:
        raise CommandFailed(element, ": ".join((failed.decision, failed.reason))) from failed
    work.budget.count_checks(element, 1 + found.steps // STEPS_PER_CHECK)
    _note(work, element, key, revision, found.main)
    write_results(work, scope, node, _name_results(call, found.main, element), inputs)


def _name_results(call: DecisionCall, found: EvaluatedDecision, element: str) -> dict[str, Any]:
    """Return the variables that a result is written to."""
    if call.variable:
        return {call.variable: _map_result(call.mapping, found, element)}
    names = dict.fromkeys(name for row in found.rows for name in row if is_name(name))
    if found.is_single:
        return {name: row[name] for row in found.rows[:1] for name in names}
    return {name: [row[name] for row in found.rows] for name in names}


def _map_result(mapping: ResultMapping, found: EvaluatedDecision, element: str) -> Any:
    rows = found.rows
    if mapping is ResultMapping.RESULT:
        return found.result
    if mapping is ResultMapping.RESULT_LIST:
        return [dict(row) for row in rows]
    if mapping is ResultMapping.COLLECT_ENTRIES:
        if any(len(row) > 1 for row in rows):
            raise CommandFailed(element, "The decision has several outputs: collectEntries takes one.")
        return [value for row in rows for value in row.values()]
    if len(rows) > 1:
        raise CommandFailed(element, f"Several rules of the decision match: {mapping.value} takes one.")
    if not rows:
        return None
    if mapping is ResultMapping.SINGLE_RESULT:
        return dict(rows[0])
    if len(rows[0]) > 1:
        raise CommandFailed(element, "The decision has several outputs: singleEntry takes one.")
    return next(iter(rows[0].values()))


def _note(work: UnitOfWork, element: str, key: str, revision: int, found: EvaluatedDecision) -> None:
    """Note in the version which revision was evaluated; of one that repeats, how often and the rules of the last."""
    known = work.decisions.get((element, key))
    if known is None and len(work.decisions) >= MAX_NOTES:
        return
    note: DecisionNote = {
        "element": element,
        "decision": key,
        "revision": revision,
        "rules": [rule.number for rule in found.rules[:MAX_RULES_NOTED]],
        "times": 1 if known is None else known["times"] + 1,
    }
    work.decisions[element, key] = note
