"""A file of decisions as it is evaluated: parsed once, immutable, shared by all who evaluate a revision."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from processes.workflows.engine.feel import Evaluator
from processes.workflows.engine.feel.syntax_tree import FeelNode, UnaryTests


class HitPolicy(StrEnum):
    """Which of the rules that match decide."""

    UNIQUE = "UNIQUE"
    FIRST = "FIRST"
    PRIORITY = "PRIORITY"
    ANY = "ANY"
    COLLECT = "COLLECT"
    RULE_ORDER = "RULE ORDER"
    OUTPUT_ORDER = "OUTPUT ORDER"

    @property
    def letter(self) -> str:
        return self.value[0]


SINGLE_HIT = frozenset({HitPolicy.UNIQUE, HitPolicy.FIRST, HitPolicy.PRIORITY, HitPolicy.ANY})


class Aggregation(StrEnum):
    SUM = "SUM"
    COUNT = "COUNT"
    MIN = "MIN"
    MAX = "MAX"


@dataclass(frozen=True, slots=True)
class FeelExpression:
    text: str
    node: FeelNode = field(compare=False, repr=False)
    evaluate: Evaluator = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class FeelTests:
    text: str
    node: UnaryTests = field(compare=False, repr=False)
    evaluate: Evaluator = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class TableInput:
    id: str
    label: str
    expression: FeelExpression | None
    """None: the column has no expression, and its entries are about other names."""
    type_name: str = ""
    values: str = ""
    """The values that the file allows, as they are written there."""
    variable: str = ""
    """A name under which the entries find the value, beside `?`."""


@dataclass(frozen=True, slots=True)
class TableOutput:
    id: str
    name: str
    label: str
    type_name: str = ""
    values: str = ""
    priorities: tuple[FeelExpression, ...] = ()
    """The values that the file allows, the most important first."""
    default: FeelExpression | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    id: str
    line: int
    inputs: tuple[FeelTests, ...]
    outputs: tuple[FeelExpression | None, ...]
    """None: the entry is empty, and gives null."""
    annotation: str = ""


@dataclass(frozen=True, slots=True)
class DecisionTable:
    id: str
    line: int
    hit_policy: HitPolicy
    aggregation: Aggregation | None
    inputs: tuple[TableInput, ...]
    outputs: tuple[TableOutput, ...]
    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class LiteralLogic:
    expression: FeelExpression


@dataclass(frozen=True, slots=True)
class ContextLogic:
    """Entries that see those before them; one without a name is the result."""

    entries: tuple[tuple[str, "Logic"], ...]


@dataclass(frozen=True, slots=True)
class ListLogic:
    items: tuple["Logic", ...]


@dataclass(frozen=True, slots=True)
class RelationLogic:
    columns: tuple[str, ...]
    rows: tuple[tuple["Logic", ...], ...]


@dataclass(frozen=True, slots=True)
class InvocationLogic:
    function: str
    bindings: tuple[tuple[str, "Logic"], ...]


@dataclass(frozen=True, slots=True)
class FunctionLogic:
    """A function as a value: an entry of a context that those behind it call."""

    parameters: tuple[str, ...]
    body: "Logic"


@dataclass(frozen=True, slots=True)
class ChoiceLogic:
    """`conditional` of DMN 1.4."""

    condition: "Logic"
    then: "Logic"
    otherwise: "Logic"


@dataclass(frozen=True, slots=True)
class IterationLogic:
    """`for`, `some`, `every` and `filter` of DMN 1.4."""

    kind: str
    variable: str
    """Of a filter `item`."""
    source: "Logic"
    body: "Logic"


Logic: TypeAlias = (
    DecisionTable
    | LiteralLogic
    | ContextLogic
    | ListLogic
    | RelationLogic
    | InvocationLogic
    | FunctionLogic
    | ChoiceLogic
    | IterationLogic
)


@dataclass(frozen=True, slots=True)
class Decision:
    id: str
    name: str
    variable: str
    """Under this name others find its result."""
    line: int
    logic: Logic
    requires: tuple[str, ...] = ()
    """The ids of the decisions whose results it needs."""
    type_name: str = ""


@dataclass(frozen=True, slots=True)
class KnowledgeModel:
    """A function of the file."""

    id: str
    name: str
    parameters: tuple[str, ...]
    logic: Logic


@dataclass(frozen=True, slots=True)
class DecisionModel:
    """The decisions of a file, of which one is asked for; `order` has those it needs before it."""

    decision: str
    order: tuple[str, ...]
    decisions: dict[str, Decision]
    functions: dict[str, KnowledgeModel]
    """By name."""
    types: dict[str, str]
    """The declared types of input data, by name."""

    @property
    def main(self) -> Decision:
        return self.decisions[self.decision]
