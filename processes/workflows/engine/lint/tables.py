"""Decision tables that promise one rule: rules that overlap, and inputs that none of them matches.

Every column is put to samples of its values; a rule is a set of them in each column. Two rules overlap where their sets
do in every column; a gap is a choice of samples that is in no rule.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from itertools import combinations
from typing import Any

from processes.workflows.engine.definition import Definition
from processes.workflows.engine.dmn.model import SINGLE_HIT, Decision, DecisionTable, FeelTests, HitPolicy
from processes.workflows.engine.feel import INPUT, FeelFailed, Run, build_evaluator
from processes.workflows.engine.feel import syntax_tree as tree
from processes.workflows.engine.lint.findings import Finding
from processes.workflows.engine.lint.samples import describe_sample, make_samples

MAX_RULES = 300
"""Of a table whose rules are compared with one another."""
MAX_VISITS = 20_000
"""Choices of samples that are looked at for a gap."""
MOST_OVERLAPS = 10
"""Named of one table."""
_CONSTANT_FUNCTIONS = ("date", "time", "date and time", "duration")
_WHOLE_TYPES = ("integer", "long")
_AT = datetime(2000, 1, 1, tzinfo=UTC)


def find_table_problems(definition: Definition) -> Iterator[Finding]:
    if definition.decision is None:
        return
    decision = definition.decision.main
    table = decision.logic
    if not isinstance(table, DecisionTable) or not table.inputs or not 0 < len(table.rules) <= MAX_RULES:
        return
    columns = [_read_column(table, at) for at in range(len(table.inputs))]
    if table.hit_policy is HitPolicy.UNIQUE:
        yield from _find_overlaps(decision, table, columns)
    if table.hit_policy in SINGLE_HIT and all(output.default is None for output in table.outputs):
        yield from _find_gap(decision, table, columns)


@dataclass(frozen=True, slots=True)
class _Column:
    samples: list[Any]
    rules: list[int | None]
    """For each rule the samples that it matches, as bits; None: it is more than a comparison with literals."""


def _read_column(table: DecisionTable, at: int) -> _Column:
    tests = [rule.inputs[at] for rule in table.rules]
    literals = [_list_literals(test) for test in tests]
    known = [value for each in literals if each is not None for value in each]
    samples = make_samples(known) if known else ["-"]
    if samples is not None and table.inputs[at].type_name in _WHOLE_TYPES:
        samples = [each for each in samples if not isinstance(each, Decimal) or each == each.to_integral_value()]
    if samples is None:
        # Of several kinds: only an entry that takes everything can be judged.
        return _Column([None], [1 if not test.node.tests else None for test in tests])
    return _Column(
        samples,
        [
            sum(1 << at for at, sample in enumerate(samples) if test.evaluate({INPUT: sample}, Run(_AT)))
            if each is not None
            else None
            for test, each in zip(tests, literals, strict=True)
        ],
    )


def _list_literals(test: FeelTests) -> list[Any] | None:
    """Return the literals that an entry compares with; None where it does anything else."""
    found: list[Any] = []
    return found if all([_collect(node, found) for node in test.node.tests]) else None


def _collect(node: tree.FeelNode | None, found: list[Any]) -> bool:
    if node is None:
        return True
    if isinstance(node, tree.RangeOf):
        return all([_collect(node.low, found), _collect(node.high, found)])
    if isinstance(node, tree.ListOf):
        return all([_collect(item, found) for item in node.items])
    if isinstance(node, tree.Comparison) and isinstance(node.left, tree.Input):
        return _collect(node.right, found)
    if not _is_constant(node):
        return False
    try:
        found.append(build_evaluator(node)({}, Run(_AT)))
    except FeelFailed:
        return False
    return True


def _is_constant(node: tree.FeelNode) -> bool:
    if isinstance(node, tree.Literal):
        return True
    if isinstance(node, tree.Negative):
        return _is_constant(node.operand)
    is_constant_call = isinstance(node, tree.Call) and node.function in _CONSTANT_FUNCTIONS
    return is_constant_call and all(map(_is_constant, node.arguments))  # type: ignore[attr-defined]


def _find_overlaps(decision: Decision, table: DecisionTable, columns: list[_Column]) -> Iterator[Finding]:
    named = 0
    for one, other in combinations(range(len(table.rules)), 2):
        # Samples that both rules match: none where one of them cannot be judged.
        common = [(column.rules[one] or 0) & (column.rules[other] or 0) for column in columns]
        if not all(common):
            continue
        rule = table.rules[other]
        example = _describe(table, columns, [(bits & -bits).bit_length() - 1 for bits in common])
        message = (
            f"The rules {one + 1} and {other + 1} both match {example}, which the hit policy UNIQUE does not allow."
        )
        yield Finding(rule.id or decision.id, rule.line, decision.name, message)
        named += 1
        if named == MOST_OVERLAPS:
            return


def _find_gap(decision: Decision, table: DecisionTable, columns: list[_Column]) -> Iterator[Finding]:
    if any(bits is None for column in columns for bits in column.rules):
        return  # what cannot be judged might fill the gap
    matching = [
        [
            sum(1 << rule for rule, bits in enumerate(column.rules) if bits is not None and bits >> at & 1)
            for at in range(len(column.samples))
        ]
        for column in columns
    ]
    gap = _search(matching, (1 << len(table.rules)) - 1)
    if gap is not None:
        message = f"No rule matches {_describe(table, columns, gap)}, and there is no default output."
        yield Finding(table.id or decision.id, table.line, decision.name, message)


def _search(matching: list[list[int]], every: int) -> list[int] | None:
    """Return the samples, one for each column, that no rule matches; None where there are none, or too many to look."""
    seen: set[tuple[int, int]] = set()
    rest: list[tuple[int, int, tuple[int, ...]]] = [(0, every, ())]
    while rest:
        column, rules, chosen = rest.pop()
        if not rules:
            return [*chosen, *([-1] * (len(matching) - len(chosen)))]
        if column == len(matching) or (column, rules) in seen:
            continue
        seen.add((column, rules))
        if len(seen) > MAX_VISITS:
            return None
        rest.extend(
            (column + 1, rules & bits, (*chosen, at)) for at, bits in reversed(list(enumerate(matching[column])))
        )
    return None


def _describe(table: DecisionTable, columns: list[_Column], chosen: list[int]) -> str:
    """Say an example: the columns with their samples, without those for which anything will do."""
    parts = []
    for column, known, at in zip(table.inputs, columns, chosen, strict=True):
        if at >= 0 and len(known.samples) > 1:
            parts.append(f"{column.label} = {describe_sample(known.samples[at])}")
    return ", ".join(parts) or "any input"
