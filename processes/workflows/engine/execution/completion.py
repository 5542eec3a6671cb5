"""Completion: how scopes end, and with the outermost one the instance."""

from processes.workflows.engine.execution.activities import finish_activity
from processes.workflows.engine.execution.calls import close_scope
from processes.workflows.engine.execution.compensation import finish_compensation
from processes.workflows.engine.execution.flows import is_flow_over, leave_element
from processes.workflows.engine.execution.loops import end_round
from processes.workflows.engine.execution.unit_of_work import UnitOfWork


def complete_scope(work: UnitOfWork, scope: str) -> None:
    """End a scope if no token is left in it; where event sub-processes still run, it only starts no more of them."""
    record = work.scopes.get(scope)
    if record is None:
        return
    if work.has_tokens(scope):
        if is_flow_over(work, scope):
            work.disarm(scope)
        return
    if "loop" in record:
        end_round(work, scope)
    elif "undo" in record:
        finish_compensation(work, scope)
    elif record["token"] is None:
        end_instance(work, scope, "completed")
    else:
        entries = work.compensations.take(scope)
        close_scope(work, scope, record["token"])
        finish_activity(work, record["token"], inner=entries, ended=record)


def terminate_scope(work: UnitOfWork, scope: str) -> None:
    """End a scope in which everything was cancelled; what it did can no longer be compensated."""
    record = work.scopes.get(scope)
    if record is None:
        return
    if "undo" in record:
        finish_compensation(work, scope)
    elif record["token"] is None:
        end_instance(work, scope, "completed")
    else:
        close_scope(work, scope, record["token"])
        if record["token"] in work.items:
            finish_activity(work, record["token"])
            return
        # Left without being logged: what was terminated cannot be compensated.
        work.cancel_owned(record["token"])
        leave_element(work, record["token"])


def end_instance(work: UnitOfWork, scope: str, status: str) -> None:
    """End the instance; only its variables remain in the state."""
    work.cancel_owned(scope)
    work.queue.clear()
    work.budget.add_size(-work.measure_entries(work.compensations.take(scope)), work.scopes[scope]["element"])
    work.status = status
