"""Hit policies: which rules of a table match, and what they come to together."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from processes.workflows.engine.dmn.model import Aggregation, DecisionTable, HitPolicy, Rule
from processes.workflows.engine.feel import INPUT, Layer, Run
from processes.workflows.engine.feel.evaluator import Names
from processes.workflows.engine.feel.functions.lists import find_extreme, sum_up
from processes.workflows.engine.feel.values import is_equal

CELL_INPUT = "cellInput"
"""The name that some tools have for `?`."""


class TableFailed(Exception):
    """What has matched is not what the table's hit policy allows."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Hit:
    number: int
    """Of the rule, from 1."""
    outputs: dict[str, Any]


def find_hits(table: DecisionTable, inputs: list[Any], names: Names, run: Run) -> list[Hit]:
    """Return the rules that match, in their order; by the policy FIRST at most one."""
    scopes = []
    for column, value in zip(table.inputs, inputs, strict=True):
        own = {INPUT: value, CELL_INPUT: value}
        if column.variable:
            own[column.variable] = value
        scopes.append(Layer(own, names))
    hits: list[Hit] = []
    for number, rule in enumerate(table.rules, start=1):
        run.meter.spend(1 + len(scopes))
        if all(test.evaluate(scope, run) for test, scope in zip(rule.inputs, scopes, strict=True)):
            hits.append(Hit(number, _evaluate_outputs(table, rule, names, run)))
            if table.hit_policy is HitPolicy.FIRST:
                break
    return hits


def _evaluate_outputs(table: DecisionTable, rule: Rule, names: Names, run: Run) -> dict[str, Any]:
    run.meter.spend(len(rule.outputs))
    return {
        output.name: entry.evaluate(names, run) if entry is not None else None
        for output, entry in zip(table.outputs, rule.outputs, strict=True)
    }


def combine_hits(table: DecisionTable, hits: list[Hit], names: Names, run: Run) -> Any:
    """Return the result of a table from the rules that have matched."""
    policy = table.hit_policy
    if table.aggregation is not None:
        return _aggregate(table.aggregation, [next(iter(hit.outputs.values())) for hit in hits], run)
    if not hits:
        return _default(table, names, run)
    if policy in (HitPolicy.UNIQUE, HitPolicy.ANY):
        _check_agreement(table, hits, run)
    if policy in (HitPolicy.UNIQUE, HitPolicy.FIRST, HitPolicy.ANY):
        return _value(table, hits[0])
    if policy in (HitPolicy.PRIORITY, HitPolicy.OUTPUT_ORDER):
        hits = _sort_by_priority(table, hits, names, run)
    return _value(table, hits[0]) if policy is HitPolicy.PRIORITY else [_value(table, hit) for hit in hits]


def _value(table: DecisionTable, hit: Hit) -> Any:
    """Return the one output of a rule, or all of them as a context."""
    return hit.outputs if len(table.outputs) > 1 else next(iter(hit.outputs.values()))


def _check_agreement(table: DecisionTable, hits: list[Hit], run: Run) -> None:
    if table.hit_policy is HitPolicy.ANY:
        hits = [hits[0], *(hit for hit in hits[1:] if not is_equal(hit.outputs, hits[0].outputs, run.meter))]
    if len(hits) < 2:
        return
    numbers = ", ".join(str(hit.number) for hit in hits[:10])
    if table.hit_policy is HitPolicy.ANY:
        raise TableFailed(f"The rules {numbers} match with different outputs, which the hit policy ANY does not allow.")
    raise TableFailed(f"The rules {numbers} match at once, which the hit policy UNIQUE does not allow.")


def _sort_by_priority(table: DecisionTable, hits: list[Hit], names: Names, run: Run) -> list[Hit]:
    orders = [
        (output.name, [value.evaluate(names, run) for value in output.priorities])
        for output in table.outputs
        if output.priorities
    ]

    def rank(hit: Hit) -> list[int]:
        return [_find(order, hit.outputs[name], run) for name, order in orders]

    return sorted(hits, key=rank)


def _find(order: list[Any], value: Any, run: Run) -> int:
    run.meter.spend(1 + len(order))
    return next((at for at, each in enumerate(order) if is_equal(each, value, run.meter)), len(order))


def _aggregate(aggregation: Aggregation, values: list[Any], run: Run) -> Any:
    if aggregation is Aggregation.COUNT:
        return Decimal(len(values))
    present = [value for value in values if value is not None]
    if not present:
        return None
    if aggregation is Aggregation.SUM:
        return sum_up(run, present)
    return find_extreme(run, [present], "<" if aggregation is Aggregation.MIN else ">")


def _default(table: DecisionTable, names: Names, run: Run) -> Any:
    """Return what a table gives without a match: its default entries; else nothing."""
    if any(output.default is not None for output in table.outputs):
        values = {
            output.name: output.default.evaluate(names, run) if output.default is not None else None
            for output in table.outputs
        }
        value = _value(table, Hit(0, values))
        return [value] if table.hit_policy in _LISTS else value
    return [] if table.hit_policy in _LISTS else None


_LISTS = frozenset({HitPolicy.COLLECT, HitPolicy.RULE_ORDER, HitPolicy.OUTPUT_ORDER})
