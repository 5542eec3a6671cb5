"""How a case begins, and how it ends what it was run by."""

from processes.workflows.engine.cases.items import begin, end
from processes.workflows.engine.cases.lifecycle import ItemState, Transition
from processes.workflows.engine.cases.moving import is_live
from processes.workflows.engine.cases.sentries import plan_of
from processes.workflows.engine.execution.activities import finish
from processes.workflows.engine.execution.calls import give_back
from processes.workflows.engine.execution.records import ItemRecord
from processes.workflows.engine.execution.unit_of_work import UnitOfWork


def begin_case(work: UnitOfWork, scope: str) -> None:
    """Open the case plan; what the case is started with counts as created as soon as its items are there."""
    if work.scopes.get(scope) is None:
        return
    work.forget_conditions()
    root = plan_of(work.definition(scope)).root
    record: ItemRecord = {"element": root, "scope": scope, "state": ItemState.ACTIVE.value, "since": work.now}
    key = work.add_item(record)
    work.trace.append((Transition.CREATE.value, root))
    begin(work, key)
    work.file_changes += [(scope, name, None, value) for name, value in work.scopes[scope]["variables"].items()]
    work.is_changed = True


def end_case(work: UnitOfWork, scope: str, state: str) -> None:
    """End a case whose plan has ended: the instance, or what runs it goes on."""
    token = work.scopes[scope]["token"]
    if token is None:
        work.queue.clear()
        work.status = state
        return
    give_back(work, scope, token)
    if token not in work.items:
        finish(work, token)
    elif is_live(work, token):
        end(work, token, Transition.COMPLETE if state == ItemState.COMPLETED else Transition.TERMINATE)
