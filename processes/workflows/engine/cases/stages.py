"""The case plan model and its stages: how a case begins, when a stage is complete, how a case ends."""

from processes.workflows.engine.cases.items import begin_item, end_item
from processes.workflows.engine.cases.lifecycle import SETTLED, ItemState, Transition
from processes.workflows.engine.cases.sentries import get_plan
from processes.workflows.engine.cases.transitions import get_item_node, is_live
from processes.workflows.engine.definition import LISTENERS, NodeKind
from processes.workflows.engine.execution.activities import finish_activity
from processes.workflows.engine.execution.calls import close_scope
from processes.workflows.engine.execution.records import ItemRecord, sequence_number
from processes.workflows.engine.execution.unit_of_work import UnitOfWork
from processes.workflows.engine.execution.visits import count_entry


def begin_case(work: UnitOfWork, scope: str) -> None:
    """Open the case plan; the initial variables count as created after its items, whose sentries may wait for them."""
    if work.scopes.get(scope) is None:
        return
    work.reset_conditions()
    root = get_plan(work.definition(scope)).root
    record: ItemRecord = {"element": root, "scope": scope, "state": ItemState.ACTIVE.value, "since": work.now}
    key = work.add_item(record)
    work.trace.append((Transition.CREATE.value, root))
    count_entry(work, scope, root)
    begin_item(work, key)
    work.file_changes += [(scope, name, None, value) for name, value in work.scopes[scope]["variables"].items()]
    work.conditions_due = True


def end_case(work: UnitOfWork, scope: str, state: str) -> None:
    """End a case whose plan has ended: the instance itself, or the token or item that called it continues."""
    token = work.scopes[scope]["token"]
    if token is None:
        work.queue.clear()
        work.status = state
        return
    close_scope(work, scope, token)
    if token not in work.items:
        finish_activity(work, token)
    elif is_live(work, token):
        end_item(work, token, Transition.COMPLETE if state == ItemState.COMPLETED else Transition.TERMINATE)


_WAITING = frozenset({ItemState.AVAILABLE, ItemState.ENABLED})
_UNDER_WAY = frozenset({ItemState.ACTIVE, ItemState.SUSPENDED})


def complete_innermost_stage(work: UnitOfWork) -> bool:
    """Complete the innermost stage that can be; return whether there was one."""
    active = [key for key, record in work.items.items() if record["state"] == "active"]
    for key in sorted(active, key=sequence_number, reverse=True):
        record = work.items[key]
        if get_item_node(work, key).kind not in (NodeKind.STAGE, NodeKind.CASE_PLAN):
            continue
        item = get_plan(work.definition(record["scope"])).items[record["element"]]
        if can_complete(work, key) if item.auto_completes else _is_complete(work, key):
            end_item(work, key, Transition.COMPLETE)
            return True  # one at a time: its completion may meet criteria in the stages around it
    return False


def can_complete(work: UnitOfWork, key: str) -> bool:
    """Return whether no item of a stage is under way and every required one is settled."""
    children = work.items_of_stage(key)
    work.budget.count_checks(work.items[key]["element"], len(children))
    for child in reversed(children):
        record = work.items[child]
        if record["state"] in _UNDER_WAY and get_item_node(work, child).kind not in LISTENERS:
            return False
        if record.get("required") and record["state"] not in SETTLED:
            return False
    return True


def _is_complete(work: UnitOfWork, key: str) -> bool:
    """Return whether every item of a stage is settled; event listeners do not count, alone they lead to nothing."""
    children = work.items_of_stage(key)
    work.budget.count_checks(work.items[key]["element"], len(children))
    for child in reversed(children):  # what is not done yet was made last, as a rule
        record = work.items[child]
        if record["state"] in SETTLED or get_item_node(work, child).kind in LISTENERS:
            continue
        # By its own rule it may not keep its stage from completing now.
        neutral = get_plan(work.definition(record["scope"])).items[record["element"]].neutral
        if neutral != "always" and not (neutral == "waiting" and record["state"] in _WAITING):
            return False
    return True
