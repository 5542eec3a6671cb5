"""What could become of an instance: whether it can go on, asked of its state alone. Nothing is changed."""

from datetime import datetime

from processes.workflows.engine.execution import flows
from processes.workflows.engine.execution.errors import CommandFailed, CommandRejected
from processes.workflows.engine.execution.records import InstanceState, Library
from processes.workflows.engine.execution.unit_of_work import UnitOfWork
from processes.workflows.engine.runner import run_command


def find_dead_end(library: Library, state: InstanceState, at: datetime) -> tuple[str, str] | None:
    """Return at which element an active instance stands still for ever, and why; None where it can go on."""
    if state.get("status") != "active":
        return None
    work = UnitOfWork(library, state, at)
    try:
        if not flows.open_inclusive_join(work):
            flows.fail_if_stuck(work)
    except CommandFailed as failed:
        return failed.element, failed.reason
    return None


def can_reactivate(library: Library, state: InstanceState, at: datetime) -> bool:
    """Return whether an ended case would go on if it were reactivated now."""
    try:
        run_command(library, state, {"command": "reactivate"}, at)
    except (CommandRejected, CommandFailed):
        return False
    return True
