"""The engine: a state and a command give the next state and what is to be done outside. It knows no clock."""

from dataclasses import dataclass
from datetime import datetime

from processes.workflows.engine.execution.commands import Command, apply, start
from processes.workflows.engine.execution.failures import Failed, NotPossible
from processes.workflows.engine.execution.records import Effect, Library, State
from processes.workflows.engine.execution.stepping import settle
from processes.workflows.engine.execution.working import Work

__all__ = ["Command", "Effect", "Failed", "Library", "NotPossible", "Outcome", "State", "run"]


@dataclass(frozen=True, slots=True)
class Outcome:
    state: State
    effects: tuple[Effect, ...]
    """What is to be done outside, in order; the ids are the same however often the command is run."""
    trace: tuple[tuple[str, str], ...] = ()
    """`enter`, `leave` or `cancel`, and the element, in the order in which it happened."""


def run(library: Library, state: State | None, command: Command, at: datetime) -> Outcome:
    """Carry out a command; the state that is given stays as it is.

    Raises NotPossible when the command does not fit the state, Failed when it was tried and could not go through.
    """
    if state is None and command["command"] != "start":
        raise NotPossible("The instance has not been started.")
    if state is not None and command["command"] == "start" and "item" not in command:
        raise NotPossible("The instance has been started already.")
    if state is None:
        work = start(library, command, at)
    else:
        work = Work(library, state, at)
        apply(work, command)
    if work.status == "active":
        settle(work)
    return Outcome(work.result(), tuple(work.effects), tuple(work.trace))
