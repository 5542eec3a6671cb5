"""Evaluate a decision: from variables to its result, with the rules that have matched. Pure; time is a parameter."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast

from processes.workflows.engine.dmn.hits import Hit, TableFailed, combine_hits, find_hits
from processes.workflows.engine.dmn.model import (
    SINGLE_HIT,
    ChoiceLogic,
    ContextLogic,
    DecisionModel,
    DecisionTable,
    FunctionLogic,
    InvocationLogic,
    IterationLogic,
    KnowledgeModel,
    ListLogic,
    LiteralLogic,
    Logic,
    RelationLogic,
)
from processes.workflows.engine.feel import FeelFailed, Layer, Run
from processes.workflows.engine.feel.conversion import JsonNames, read_as, to_json
from processes.workflows.engine.feel.evaluator import Names, list_items
from processes.workflows.engine.feel.limits import Meter
from processes.workflows.engine.feel.values import Closure, all_of, any_of

MAX_RESULT_STEPS = 100_000
"""Parts of all results together, when they are written as JSON."""


class EvaluationFailed(Exception):
    """The decision has no result: its rules contradict its hit policy, or it would take too long."""

    def __init__(self, decision: str, reason: str) -> None:
        super().__init__(decision, reason)
        self.decision = decision
        self.reason = reason


@dataclass(frozen=True, slots=True)
class MatchedRule:
    number: int
    """From 1, as the table shows it."""
    id: str
    outputs: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class EvaluatedDecision:
    """One decision of those that were evaluated, with values as JSON."""

    id: str
    name: str
    result: Any
    inputs: tuple[tuple[str, Any], ...] = ()
    """Of a table: each column with its value."""
    rules: tuple[MatchedRule, ...] = ()
    """Of a table: the rules that matched, in their order."""
    rows: tuple[Mapping[str, Any], ...] = ()
    """The result as a list of named outputs, however many there are."""
    is_single: bool = True
    """At most one of them can be there."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    result: Any
    decisions: tuple[EvaluatedDecision, ...]
    """In the order in which they were evaluated; the last is the one that was asked for."""
    steps: int = field(default=0, compare=False)

    @property
    def main(self) -> EvaluatedDecision:
        return self.decisions[-1]


def evaluate_decision(model: DecisionModel, variables: Mapping[str, Any], *, at: datetime) -> Evaluation:
    """Evaluate the decision of a model with everything that it requires; raises EvaluationFailed."""
    run = Run(at)
    run.functions = {name: _ModelFunction(function) for name, function in model.functions.items()}
    given = JsonNames(variables, run.meter, model.types)
    writing = Meter(MAX_RESULT_STEPS)
    found: list[EvaluatedDecision] = []
    results: dict[str, Any] = {}
    outputs: dict[str, dict[str, Any]] = {}
    for key in model.order:
        decision = model.decisions[key]
        own: dict[str, Any] = {}
        for required in decision.requires:
            own |= outputs[required]
        own |= {model.decisions[each].variable: results[each] for each in decision.requires}
        try:
            table = _TableRun() if isinstance(decision.logic, DecisionTable) else None
            value = _evaluate(decision.logic, Layer(own, given), run, table)
            results[key] = value
            outputs[key] = _name_outputs(decision.logic, value)
            found.append(_report(model, key, value, table, writing))
        except (FeelFailed, TableFailed) as failed:
            raise EvaluationFailed(key, failed.reason) from failed
    return Evaluation(found[-1].result, tuple(found), run.meter.spent)


@dataclass(slots=True)
class _TableRun:
    """What happened in the table of a decision."""

    inputs: list[Any] = field(default_factory=list)
    hits: list[Hit] = field(default_factory=list)


def _evaluate(logic: Logic, names: Names, run: Run, table: _TableRun | None = None) -> Any:
    return _EVALUATORS[type(logic)](logic, names, run, table)


def _evaluate_table(logic: DecisionTable, names: Names, run: Run, table: _TableRun | None) -> Any:
    inputs = [
        read_as(column.expression.evaluate(names, run), column.type_name) if column.expression is not None else None
        for column in logic.inputs
    ]
    hits = find_hits(logic, inputs, names, run)
    if table is not None:
        table.inputs, table.hits = inputs, hits
    return combine_hits(logic, hits, names, run)


def _evaluate_context(logic: ContextLogic, names: Names, run: Run, table: _TableRun | None) -> Any:
    found: dict[str, Any] = {}
    inner = Layer(found, names)
    for name, entry in logic.entries:
        value = _evaluate(entry, inner, run)
        if not name:
            return value
        found[name] = value
    return found


def _evaluate_relation(logic: RelationLogic, names: Names, run: Run, table: _TableRun | None) -> Any:
    return [
        {column: _evaluate(cell, names, run) for column, cell in zip(logic.columns, row, strict=True)}
        for row in logic.rows
    ]


def _evaluate_invocation(logic: InvocationLogic, names: Names, run: Run, table: _TableRun | None) -> Any:
    values = [_evaluate(value, names, run) for _, value in logic.bindings]
    return run.functions[logic.function](run, values, [name for name, _ in logic.bindings])


def _evaluate_iteration(logic: IterationLogic, names: Names, run: Run, table: _TableRun | None) -> Any:
    items = list_items(_evaluate(logic.source, names, run), run)
    run.meter.spend_items(len(items))
    rounds = ((item, _evaluate(logic.body, _make_round(logic, item, names), run)) for item in items)
    if logic.kind == "for":
        return [value for _, value in rounds]
    if logic.kind == "filter":
        return [item for item, value in rounds if value is True]
    connect = any_of if logic.kind == "some" else all_of
    return connect(value for _, value in rounds)


def _make_round(logic: IterationLogic, item: Any, names: Names) -> Names:
    own = {logic.variable: item}
    # Of a filter the parts of an item are names, too.
    return Layer({**item, **own} if logic.kind == "filter" and isinstance(item, dict) else own, names)


_EVALUATORS = cast(
    dict[type, Callable[[Any, Names, Run, _TableRun | None], Any]],
    {
        DecisionTable: _evaluate_table,
        LiteralLogic: lambda logic, names, run, table: logic.expression.evaluate(names, run),
        ContextLogic: _evaluate_context,
        ListLogic: lambda logic, names, run, table: [_evaluate(item, names, run) for item in logic.items],
        RelationLogic: _evaluate_relation,
        InvocationLogic: _evaluate_invocation,
        FunctionLogic: lambda logic, names, run, table: _make_closure(logic, names),
        ChoiceLogic: lambda logic, names, run, table: _evaluate(
            logic.then if _evaluate(logic.condition, names, run) is True else logic.otherwise, names, run
        ),
        IterationLogic: _evaluate_iteration,
    },
)


def _make_closure(logic: FunctionLogic, names: Names) -> Closure:
    def call(run: Run, values: Sequence[Any]) -> Any:
        run.enter_call(1)
        try:
            return _evaluate(logic.body, Layer(dict(zip(logic.parameters, values, strict=True)), names), run)
        finally:
            run.calls -= 1

    return Closure(logic.parameters, call)


@dataclass(frozen=True, slots=True)
class _ModelFunction:
    """A business knowledge model as expressions call it."""

    model: KnowledgeModel

    @property
    def parameters(self) -> tuple[str, ...]:
        return self.model.parameters

    def __call__(self, run: Run, values: Sequence[Any], named: Sequence[str]) -> Any:
        given = dict(zip(named or self.model.parameters, values, strict=False))
        run.enter_call(1)
        try:
            # A function sees its parameters alone, not what is around its call.
            return _evaluate(self.model.logic, {name: given.get(name) for name in self.model.parameters}, run)
        finally:
            run.calls -= 1


def _name_outputs(logic: Logic, value: Any) -> dict[str, Any]:
    """Return the outputs of a table by their names, for decisions that refer to them so."""
    if not isinstance(logic, DecisionTable):
        return {}
    if len(logic.outputs) == 1:
        return {logic.outputs[0].name: value} if logic.outputs[0].name else {}
    if isinstance(value, dict):
        return dict(value)
    rows = value if isinstance(value, list) else []
    return {output.name: [row[output.name] for row in rows] for output in logic.outputs}


def _report(model: DecisionModel, key: str, value: Any, table: _TableRun | None, meter: Meter) -> EvaluatedDecision:
    decision = model.decisions[key]
    result = to_json(value, meter)
    if table is None or not isinstance(decision.logic, DecisionTable):
        rows = ({decision.variable: result},)
        return EvaluatedDecision(key, decision.name, result, rows=rows)
    logic = decision.logic
    rules = tuple(
        MatchedRule(hit.number, logic.rules[hit.number - 1].id, to_json(hit.outputs, meter)) for hit in table.hits
    )
    columns = zip(logic.inputs, table.inputs, strict=True)
    return EvaluatedDecision(
        key,
        decision.name,
        result,
        inputs=tuple((column.label, to_json(each, meter)) for column, each in columns),
        rules=rules,
        rows=_list_rows(logic, result),
        is_single=logic.hit_policy in SINGLE_HIT or logic.aggregation is not None,
    )


def _list_rows(table: DecisionTable, result: Any) -> tuple[Mapping[str, Any], ...]:
    """Return a table's result as a list of named outputs."""
    if table.hit_policy in SINGLE_HIT or table.aggregation is not None:
        values = [] if result is None else [result]
    else:
        values = result
    name = table.outputs[0].name or "result"
    is_map = len(table.outputs) > 1 and table.aggregation is None
    return tuple(each if is_map else {name: each} for each in values)
