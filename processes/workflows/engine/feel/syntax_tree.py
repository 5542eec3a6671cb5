"""The syntax tree of FEEL."""

from dataclasses import dataclass
from typing import Any, NamedTuple


class Extent(NamedTuple):
    size: int
    """The number of nodes, itself included: what one round of a loop costs."""
    height: int
    """The length of the longest path down, itself included."""


@dataclass(frozen=True, slots=True)
class FeelNode:
    extent: Extent


@dataclass(frozen=True, slots=True)
class Literal(FeelNode):
    """Text, a number, a boolean, null or a temporal value."""

    value: Any


@dataclass(frozen=True, slots=True)
class Name(FeelNode):
    name: str


@dataclass(frozen=True, slots=True)
class Input(FeelNode):
    """`?`: the value that a unary test is about."""


@dataclass(frozen=True, slots=True)
class ListOf(FeelNode):
    items: tuple[FeelNode, ...]


@dataclass(frozen=True, slots=True)
class ContextOf(FeelNode):
    """`{a: 1, b: a + 1}`: an entry sees those before it."""

    entries: tuple[tuple[str, FeelNode], ...]


@dataclass(frozen=True, slots=True)
class RangeOf(FeelNode):
    """`[low..high]`; an end that is None is open without bound, as in the unary test `< 5`."""

    low: FeelNode | None
    high: FeelNode | None
    includes_low: bool
    includes_high: bool


@dataclass(frozen=True, slots=True)
class Member(FeelNode):
    """`base.name`."""

    base: FeelNode
    name: str


@dataclass(frozen=True, slots=True)
class Filter(FeelNode):
    """`base[condition]`, or an item by its number."""

    base: FeelNode
    condition: FeelNode


@dataclass(frozen=True, slots=True)
class Call(FeelNode):
    function: str
    arguments: tuple[FeelNode, ...]
    names: tuple[str, ...] = ()
    """Of the arguments, where they are named."""


@dataclass(frozen=True, slots=True)
class FunctionOf(FeelNode):
    """`function(a, b) a + b`: a value that sees the names around it."""

    parameters: tuple[str, ...]
    body: FeelNode


@dataclass(frozen=True, slots=True)
class Invocation(FeelNode):
    """A call of a function that is a value: `(function(a) a + 1)(2)`, or a name that is bound to one."""

    function: FeelNode
    arguments: tuple[FeelNode, ...]
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Negative(FeelNode):
    operand: FeelNode


@dataclass(frozen=True, slots=True)
class Arithmetic(FeelNode):
    operator: str
    left: FeelNode
    right: FeelNode


@dataclass(frozen=True, slots=True)
class Comparison(FeelNode):
    """Of `operator` one of `= != < <= > >=`."""

    operator: str
    left: FeelNode
    right: FeelNode


@dataclass(frozen=True, slots=True)
class Between(FeelNode):
    operand: FeelNode
    low: FeelNode
    high: FeelNode


@dataclass(frozen=True, slots=True)
class InTests(FeelNode):
    """`x in …`: a value and the unary tests it is put to, of which one must hold."""

    operand: FeelNode
    tests: tuple[FeelNode, ...]


@dataclass(frozen=True, slots=True)
class InstanceOf(FeelNode):
    operand: FeelNode
    type_name: str


@dataclass(frozen=True, slots=True)
class Conjunction(FeelNode):
    operands: tuple[FeelNode, ...]


@dataclass(frozen=True, slots=True)
class Disjunction(FeelNode):
    operands: tuple[FeelNode, ...]


@dataclass(frozen=True, slots=True)
class Conditional(FeelNode):
    condition: FeelNode
    then: FeelNode
    otherwise: FeelNode


@dataclass(frozen=True, slots=True)
class Iteration(FeelNode):
    """`for`, `some` and `every`: the names with what each of them runs over, and what is evaluated in each round."""

    kind: str
    sources: tuple[tuple[str, FeelNode], ...]
    body: FeelNode


@dataclass(frozen=True, slots=True)
class UnaryTests(FeelNode):
    """An entry of a decision table: any of the tests holds, or none where negated. Without tests (`-`) it holds."""

    tests: tuple[FeelNode, ...]
    is_negated: bool = False
