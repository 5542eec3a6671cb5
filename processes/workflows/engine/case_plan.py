"""The plan of a case: the criteria and rules of its plan items.

Items and stages are keyed by the id of their plan item; the case plan model by its own id.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from processes.workflows.engine.expressions import Expression


class CriterionRole(StrEnum):
    """What happens to an item when a criterion of it is met."""

    ENTRY = "entry"
    EXIT = "exit"
    TIMER = "timer"
    """The timer of a listener begins to run."""


@dataclass(frozen=True, slots=True)
class OnPart:
    """A transition of a plan item or a case file item that a sentry waits for."""

    source: str
    """The plan item, or the case file item as `Plan.files` has it."""
    event: str
    """The standard event: `complete`, `occur`, `create`, …"""
    is_file: bool = False
    criterion: str = ""
    """Of `exit`: the exit criterion by which the source must have left; empty: whichever way."""


@dataclass(frozen=True, slots=True)
class Sentry:
    """Met when every on-part has happened and the condition holds; without on-parts, when it becomes true."""

    id: str
    on: tuple[OnPart, ...] = ()
    condition: Expression | None = None
    line: int = 0


@dataclass(frozen=True, slots=True)
class Criterion:
    """One reason for an item to begin or to end. `id` is the criterion's own."""

    id: str
    sentry: Sentry
    role: CriterionRole


@dataclass(frozen=True, slots=True)
class ItemRule:
    """A rule of the item control; without a condition it holds always."""

    condition: Expression | None = None


@dataclass(frozen=True, slots=True)
class PlanItem:
    """The criteria and rules of a plan item; the rest of it is its node."""

    criteria: tuple[Criterion, ...] = ()
    """Those of entry, in the order of the file, then those of exit; of a timer listener, what starts its timer."""
    manual_activation: ItemRule | None = None
    repetition: ItemRule | None = None
    required: ItemRule | None = None
    is_blocking: bool = True
    auto_completes: bool = False
    """Of stages and of the case plan model."""
    neutral: str = ""
    """`waiting`: while it waits to be started it does not keep its stage from completing; `always`: never does."""
    called_by: Expression | None = None
    """Of process and case tasks: gives the key of what is run, when the file does not name it."""

    @property
    def has_entry(self) -> bool:
        return any(criterion.role is CriterionRole.ENTRY for criterion in self.criteria)


@dataclass(frozen=True, slots=True)
class OnPartReference:
    """Where an on-part stands, for the index by what it waits for."""

    item: str
    """The plan item whose criterion it is."""
    criterion: int
    """The place of the criterion among those of the item; `part` is that of the on-part in its sentry."""
    part: int
    common: str
    """The innermost stage around both the item and the source: events of another run of it do not count."""


@dataclass(frozen=True, slots=True)
class CasePlan:
    root: str
    """The case plan model."""
    items: dict[str, PlanItem]
    files: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Case file items by id: the name of the variable, then the names of the parts that lead to the item."""
    on_parts: dict[tuple[str, str], tuple[OnPartReference, ...]] = field(default_factory=dict)
    """By source and event, in the order of the file."""
    items_with_conditions: frozenset[str] = frozenset()
    """The plan items that have a criterion with a condition."""
