"""The tree of an expression. `height` is the longest way down from a node, itself counted."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Node:
    height: int


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """Text, a number, a boolean or null; never what could be changed."""

    value: Any


@dataclass(frozen=True, slots=True)
class Name(Node):
    name: str


@dataclass(frozen=True, slots=True)
class ListOf(Node):
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class MapOf(Node):
    entries: tuple[tuple[str, Node], ...]


@dataclass(frozen=True, slots=True)
class Path(Node):
    """`base.key[key]…`: one node however long, so that it is not deep."""

    base: Node
    keys: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Call(Node):
    function: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Negative(Node):
    operand: Node


@dataclass(frozen=True, slots=True)
class Not(Node):
    operand: Node


@dataclass(frozen=True, slots=True)
class Arithmetic(Node):
    """`first + a - b …` or `first * a / b …`, from left to right: one node however long."""

    first: Node
    rest: tuple[tuple[str, Node], ...]


@dataclass(frozen=True, slots=True)
class Comparison(Node):
    """Of `operator` one of `== != < <= > >= in`."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class AllOf(Node):
    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class AnyOf(Node):
    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice(Node):
    condition: Node
    then: Node
    otherwise: Node
