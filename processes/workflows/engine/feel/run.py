"""What an evaluation carries along: its meter, the time it counts as now, and the functions of the file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from processes.workflows.engine.feel.errors import FeelFailed
from processes.workflows.engine.feel.limits import MAX_CALLS, Meter


class FileFunction(Protocol):
    """A business knowledge model: called with the arguments, and their names where they are named."""

    @property
    def parameters(self) -> tuple[str, ...]: ...

    def __call__(self, run: "Run", values: Sequence[Any], named: Sequence[str]) -> Any: ...


@dataclass(slots=True)
class Run:
    at: datetime
    """What `now()` and `today()` say: a decision that is evaluated again at this time gives the same."""
    meter: Meter = field(default_factory=Meter)
    functions: Mapping[str, FileFunction] = field(default_factory=dict)
    calls: int = 0
    """How many functions of the file, and functions that are values, are inside one another at the moment."""

    def enter_call(self, cost: int) -> None:
        """Count a call, which costs so many steps; whoever makes it takes one off `calls` afterwards."""
        if self.calls >= MAX_CALLS:
            raise FeelFailed(f"More than {MAX_CALLS} functions of the file would call one another.")
        self.meter.spend(cost)
        self.calls += 1
