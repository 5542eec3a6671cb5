"""Exclusive gateways whose conditions compare one variable with literals: what holds twice, and what holds never."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations
from typing import Any

from processes.workflows.engine.definition import Definition, Flow, Node, NodeKind
from processes.workflows.engine.expressions import Expression, ExpressionError, ExpressionFailed
from processes.workflows.engine.expressions import syntax_tree as tree
from processes.workflows.engine.expressions.parser import parse
from processes.workflows.engine.feel.conversion import to_number
from processes.workflows.engine.lint.findings import Finding
from processes.workflows.engine.lint.samples import describe_sample, make_samples

MAX_BRANCHES = 50


def find_condition_problems(definition: Definition) -> Iterator[Finding]:
    """Yield the exclusive gateways of which two conditions hold at once, or none for some value."""
    for node in definition.nodes.values():
        if node.kind is NodeKind.EXCLUSIVE and 2 <= len(node.outgoing) <= MAX_BRANCHES:
            yield from _check_gateway(definition, node)


def _check_gateway(definition: Definition, node: Node) -> Iterator[Finding]:
    flows = [definition.flows[key] for key in node.outgoing if key != node.default]
    judged = _judge(flows)
    if judged is None:
        return
    for (one, first), (other, second) in combinations(zip(flows, judged.holds, strict=True), 2):
        both = next((sample for sample, *held in zip(judged.samples, first, second, strict=True) if all(held)), None)
        if both is not None:
            example = f"{judged.path} = {describe_sample(both)}"
            message = f"“{_text(one)}” and “{_text(other)}” both hold for {example}: the first one is taken."
            yield Finding(node.id, node.line, node.name, message)
    if node.default is None:
        for sample, *held in zip(judged.samples, *judged.holds, strict=True):
            if not any(held):
                message = (
                    f"No condition holds for {judged.path} = {describe_sample(sample)}, and there is no default flow."
                )
                yield Finding(node.id, node.line, node.name, message)
                break


def _text(flow: Flow) -> str:
    text = flow.condition.text if flow.condition is not None else ""
    return " ".join(text.split())[:80]


@dataclass(frozen=True, slots=True)
class _Judged:
    path: str
    samples: list[Any]
    holds: list[list[bool]]
    """For each condition, whether it holds for each sample."""


def _judge(flows: list[Flow]) -> _Judged | None:
    """Put the conditions to samples; None where they are about more than comparisons of one variable."""
    found = [_read(flow.condition) for flow in flows if flow.condition is not None]
    simple = [each for each in found if each is not None]
    if not flows or len(simple) < len(flows) or len({each.path for each in simple}) != 1:
        return None
    literals = [value for each in simple for value in each.literals]
    if any(each.is_bare for each in simple):
        literals.append(True)
    samples = make_samples(literals)
    if samples is None:
        return None
    path = simple[0].path
    holds = [_evaluate(flow.condition, path, samples) for flow in flows]
    known = [each for each in holds if each is not None]
    return _Judged(".".join(path), samples, known) if len(known) == len(holds) else None


@dataclass(frozen=True, slots=True)
class _Simple:
    path: tuple[str, ...]
    literals: tuple[Any, ...]
    is_bare: bool
    """The variable itself is the condition somewhere."""


def _read(condition: Expression) -> _Simple | None:
    """Read a condition that compares one variable with literals, joined by and, or and not."""
    try:
        node, _ = parse(condition.text)
    except ExpressionError:
        return None
    paths: set[tuple[str, ...]] = set()
    literals: list[Any] = []
    bare: list[bool] = []
    if not _walk(node, paths, literals, bare) or len(paths) != 1:
        return None
    return _Simple(next(iter(paths)), tuple(literals), bool(bare))


def _walk(node: tree.ExpressionNode, paths: set[tuple[str, ...]], literals: list[Any], bare: list[bool]) -> bool:
    """Collect what a condition compares; False where it does anything else."""
    if isinstance(node, tree.AllOf | tree.AnyOf):
        return all([_walk(operand, paths, literals, bare) for operand in node.operands])
    if isinstance(node, tree.Not):
        return _walk(node.operand, paths, literals, bare)
    if isinstance(node, tree.Comparison):
        sides = [(_read_path(side), _read_literals(side)) for side in (node.left, node.right)]
        named = [path for path, _ in sides if path is not None]
        given = [values for _, values in sides if values is not None]
        if len(named) != 1 or len(given) != 1:
            return False
        paths.add(named[0])
        literals.extend(given[0])
        return True
    path = _read_path(node)
    if path is None:
        return False
    paths.add(path)
    bare.append(True)
    return True


def _read_path(node: tree.ExpressionNode) -> tuple[str, ...] | None:
    if isinstance(node, tree.VariableReference):
        return (node.name,)
    if isinstance(node, tree.Path) and isinstance(node.base, tree.VariableReference):
        keys = [key.value for key in node.keys if isinstance(key, tree.Literal) and isinstance(key.value, str)]
        return (node.base.name, *keys) if len(keys) == len(node.keys) else None
    return None


def _read_literals(node: tree.ExpressionNode) -> tuple[Any, ...] | None:
    if isinstance(node, tree.Literal):
        return (_exact(node.value),)
    if isinstance(node, tree.Negative) and isinstance(node.operand, tree.Literal):
        value = _exact(node.operand.value)
        return (-value,) if isinstance(value, Decimal) else None
    if isinstance(node, tree.ListOf):
        items = [_read_literals(item) for item in node.items]
        return tuple(value for item in items if item is not None for value in item) if None not in items else None
    return None


def _exact(value: Any) -> Any:
    return Decimal(str(value)) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _evaluate(condition: Expression | None, path: tuple[str, ...], samples: list[Any]) -> list[bool] | None:
    assert condition is not None
    try:
        return [bool(condition.evaluate(_nest(path, sample))) for sample in samples]
    except ExpressionFailed:
        return None


def _nest(path: tuple[str, ...], sample: Any) -> Mapping[str, Any]:
    """Return variables in which a path leads to the sample."""
    value: Any = to_number(sample) if isinstance(sample, Decimal) else sample
    for name in reversed(path):
        value = {name: value}
    nested: Mapping[str, Any] = value
    return nested
