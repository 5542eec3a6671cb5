"""Run a command: from a state and a command to the next state and its effects. Time is a parameter."""

from dataclasses import dataclass
from datetime import datetime

from processes.workflows.engine.execution.commands import Command, apply_command, start_instance
from processes.workflows.engine.execution.errors import CommandFailed, CommandRejected
from processes.workflows.engine.execution.queue import run_queue
from processes.workflows.engine.execution.records import Effect, InstanceState, Library
from processes.workflows.engine.execution.unit_of_work import UnitOfWork

__all__ = [
    "Command",
    "CommandFailed",
    "CommandOutcome",
    "CommandRejected",
    "Effect",
    "InstanceState",
    "Library",
    "run_command",
]


@dataclass(frozen=True, slots=True)
class CommandOutcome:
    state: InstanceState
    effects: tuple[Effect, ...]
    """Published after the commit, in order; running the command again gives the same ids."""
    trace: tuple[tuple[str, str], ...] = ()
    """`enter`, `leave` or `cancel`, and the element, in the order in which it happened."""


def run_command(library: Library, state: InstanceState | None, command: Command, at: datetime) -> CommandOutcome:
    """Run a command against a state, which is not modified; `state` is None for the command that starts an instance.

    Raises CommandRejected if the command does not fit the state, CommandFailed if it fails at an element.
    """
    if state is None and command["command"] != "start":
        raise CommandRejected("The instance has not been started.")
    if state is not None and command["command"] == "start" and "item" not in command:
        raise CommandRejected("The instance has been started already.")
    if state is None:
        work = start_instance(library, command, at)
    else:
        work = UnitOfWork(library, state, at)
        apply_command(work, command)
    if work.status == "active":
        run_queue(work)
    return CommandOutcome(work.build_state(), tuple(work.effects), tuple(work.trace))
