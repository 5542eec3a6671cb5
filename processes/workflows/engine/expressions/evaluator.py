"""From a syntax tree to a function of the variables: each node becomes a closure over those of its operands.

Comparisons and variables, which conditions consist of, are inlined for speed; the rest goes through `operations`.
"""

from collections.abc import Callable, Mapping
from functools import singledispatch
from typing import Any

from processes.workflows.engine.expressions.functions import FUNCTIONS
from processes.workflows.engine.expressions.limits import Meter
from processes.workflows.engine.expressions.operations import (
    ARITHMETIC,
    ORDERED,
    ORDERINGS,
    UNBOUNDED,
    check_value,
    compare_ordered,
    is_equal,
    is_in,
    look_up,
    negate,
)
from processes.workflows.engine.expressions.syntax_tree import (
    AllOf,
    AnyOf,
    Arithmetic,
    Comparison,
    Conditional,
    ExpressionNode,
    FunctionCall,
    ListOf,
    Literal,
    MapOf,
    Negative,
    Not,
    Path,
    VariableReference,
)

Evaluator = Callable[[Mapping[str, Any], Meter], Any]


@singledispatch
def build_evaluator(node: ExpressionNode) -> Evaluator:
    """Compile a node of the syntax tree into a function of the variables and the meter."""
    raise TypeError(f"{type(node).__name__} is no node of an expression.")


@build_evaluator.register
def _literal(node: Literal) -> Evaluator:
    value = node.value
    return lambda names, meter: value


@build_evaluator.register
def _name(node: VariableReference) -> Evaluator:
    name = node.name

    def evaluate(names: Mapping[str, Any], meter: Meter) -> Any:
        value = names.get(name)
        return value if type(value) in UNBOUNDED else check_value(value)

    return evaluate


@build_evaluator.register
def _list(node: ListOf) -> Evaluator:
    items = [build_evaluator(item) for item in node.items]
    return lambda names, meter: [item(names, meter) for item in items]


@build_evaluator.register
def _map(node: MapOf) -> Evaluator:
    entries = [(key, build_evaluator(value)) for key, value in node.entries]
    return lambda names, meter: {key: value(names, meter) for key, value in entries}


@build_evaluator.register
def _path(node: Path) -> Evaluator:
    base = build_evaluator(node.base)
    keys = [build_evaluator(key) for key in node.keys]

    def evaluate(names: Mapping[str, Any], meter: Meter) -> Any:
        value = base(names, meter)
        for key in keys:
            value = look_up(value, key(names, meter))
        return value

    return evaluate


@build_evaluator.register
def _call(node: FunctionCall) -> Evaluator:
    call = FUNCTIONS[node.function].call
    arguments = [build_evaluator(argument) for argument in node.arguments]
    if call is None:
        return _first_of(arguments)
    return lambda names, meter: call(meter, *[argument(names, meter) for argument in arguments])


def _first_of(operands: list[Evaluator]) -> Evaluator:
    def evaluate(names: Mapping[str, Any], meter: Meter) -> Any:
        for operand in operands:
            value = operand(names, meter)
            if value is not None:
                return value
        return None

    return evaluate


@build_evaluator.register
def _negative(node: Negative) -> Evaluator:
    operand = build_evaluator(node.operand)
    return lambda names, meter: negate(operand(names, meter))


@build_evaluator.register
def _not(node: Not) -> Evaluator:
    operand = build_evaluator(node.operand)
    return lambda names, meter: not operand(names, meter)


@build_evaluator.register
def _arithmetic(node: Arithmetic) -> Evaluator:
    first = build_evaluator(node.first)
    rest = [(ARITHMETIC[symbol], build_evaluator(operand)) for symbol, operand in node.rest]

    def evaluate(names: Mapping[str, Any], meter: Meter) -> Any:
        value = first(names, meter)
        for apply, operand in rest:
            value = apply(value, operand(names, meter), meter)
        return value

    return evaluate


@build_evaluator.register
def _comparison(node: Comparison) -> Evaluator:
    left, right = build_evaluator(node.left), build_evaluator(node.right)
    if node.operator == "==":
        return lambda names, meter: is_equal(left(names, meter), right(names, meter), meter)
    if node.operator == "!=":
        return lambda names, meter: not is_equal(left(names, meter), right(names, meter), meter)
    if node.operator == "in":
        return lambda names, meter: is_in(left(names, meter), right(names, meter), meter)
    return _ordering(node.operator, left, right)


def _ordering(symbol: str, left: Evaluator, right: Evaluator) -> Evaluator:
    compare = ORDERINGS[symbol]

    def evaluate(names: Mapping[str, Any], meter: Meter) -> bool:
        one, other = left(names, meter), right(names, meter)
        if type(one) is type(other) and type(one) in ORDERED:
            return compare(one, other)
        return compare_ordered(symbol, one, other)

    return evaluate


@build_evaluator.register
def _all(node: AllOf) -> Evaluator:
    operands = [build_evaluator(operand) for operand in node.operands]

    def evaluate(names: Mapping[str, Any], meter: Meter) -> bool:
        for operand in operands:  # noqa: SIM110  (a generator inside all() takes twice as long)
            if not operand(names, meter):
                return False
        return True

    return evaluate


@build_evaluator.register
def _any(node: AnyOf) -> Evaluator:
    operands = [build_evaluator(operand) for operand in node.operands]

    def evaluate(names: Mapping[str, Any], meter: Meter) -> bool:
        for operand in operands:  # noqa: SIM110  (as above)
            if operand(names, meter):
                return True
        return False

    return evaluate


@build_evaluator.register
def _choice(node: Conditional) -> Evaluator:
    condition, then, otherwise = map(build_evaluator, (node.condition, node.then, node.otherwise))
    return lambda names, meter: then(names, meter) if condition(names, meter) else otherwise(names, meter)
