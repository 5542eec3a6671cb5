"""The syntax tree of an expression. `height` is the length of the longest path down from a node, itself included."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ExpressionNode:
    height: int


@dataclass(frozen=True, slots=True)
class Literal(ExpressionNode):
    """Text, a number, a boolean or null; never what could be changed."""

    value: Any


@dataclass(frozen=True, slots=True)
class VariableReference(ExpressionNode):
    name: str


@dataclass(frozen=True, slots=True)
class ListOf(ExpressionNode):
    items: tuple[ExpressionNode, ...]


@dataclass(frozen=True, slots=True)
class MapOf(ExpressionNode):
    entries: tuple[tuple[str, ExpressionNode], ...]


@dataclass(frozen=True, slots=True)
class Path(ExpressionNode):
    """`base.key[key]…`: one node however long, so that it is not deep."""

    base: ExpressionNode
    keys: tuple[ExpressionNode, ...]


@dataclass(frozen=True, slots=True)
class FunctionCall(ExpressionNode):
    function: str
    arguments: tuple[ExpressionNode, ...]


@dataclass(frozen=True, slots=True)
class Negative(ExpressionNode):
    operand: ExpressionNode


@dataclass(frozen=True, slots=True)
class Not(ExpressionNode):
    operand: ExpressionNode


@dataclass(frozen=True, slots=True)
class Arithmetic(ExpressionNode):
    """`first + a - b …` or `first * a / b …`, from left to right: one node however long."""

    first: ExpressionNode
    rest: tuple[tuple[str, ExpressionNode], ...]


@dataclass(frozen=True, slots=True)
class Comparison(ExpressionNode):
    """Of `operator` one of `== != < <= > >= in`."""

    operator: str
    left: ExpressionNode
    right: ExpressionNode


@dataclass(frozen=True, slots=True)
class AllOf(ExpressionNode):
    operands: tuple[ExpressionNode, ...]


@dataclass(frozen=True, slots=True)
class AnyOf(ExpressionNode):
    operands: tuple[ExpressionNode, ...]


@dataclass(frozen=True, slots=True)
class Conditional(ExpressionNode):
    condition: ExpressionNode
    then: ExpressionNode
    otherwise: ExpressionNode
