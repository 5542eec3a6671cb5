"""Commands to plan items, which of them an item accepts, and the commands a case handles differently from a process."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from processes.workflows.engine.cases.items import create_item, end_contents, end_item, make_occur, start_item
from processes.workflows.engine.cases.lifecycle import ItemState, Transition
from processes.workflows.engine.cases.stages import can_complete
from processes.workflows.engine.cases.transitions import (
    can_transition,
    get_item_node,
    is_within_suspended,
    make_transition,
    resume_item,
    suspend_item,
)
from processes.workflows.engine.definition import NodeKind
from processes.workflows.engine.execution.errors import CommandRejected
from processes.workflows.engine.execution.records import InstanceState, Library
from processes.workflows.engine.execution.unit_of_work import UnitOfWork


def apply_item_command(work: UnitOfWork, name: str, command: Mapping[str, Any]) -> None:
    key = str(command.get("item"))
    refusal = find_refusal(work, key, name)
    if refusal is not None:
        raise CommandRejected(refusal)
    _COMMANDS[name](work, key, TRANSITIONS[name])


def suspend_case(work: UnitOfWork) -> None:
    suspend_item(work, _get_plan_item(work))


def resume_case(work: UnitOfWork) -> None:
    resume_item(work, _get_plan_item(work))


def terminate_case(work: UnitOfWork) -> None:
    """Terminate a case, also a suspended one."""
    key = _get_plan_item(work)
    make_transition(work, key, Transition.TERMINATE)
    end_contents(work, key, get_item_node(work, key))
    work.queue.clear()
    work.status = "terminated"


def close_case(work: UnitOfWork) -> None:
    """Close a case for good; only a return to an earlier version reopens it."""
    # A case whose start has failed has no plan yet, and can be terminated all the same.
    key = _get_plan_item(work) if work.items.records else None
    can_close = work.status == "terminated" if key is None else can_transition(work, key, Transition.CLOSE)
    if not can_close:
        raise CommandRejected(f"A case that is {work.status} cannot be closed.")
    if key is not None:
        make_transition(work, key, Transition.CLOSE)
        end_contents(work, key, get_item_node(work, key))
    work.queue.clear()
    work.status = "closed"


def reactivate_case(work: UnitOfWork) -> None:
    """Let a case go on that is suspended or has ended: what has ended with it is created anew."""
    key = _get_plan_item(work) if work.items.records else None
    if key is None or not can_transition(work, key, Transition.REACTIVATE):
        raise CommandRejected(f"A case that is {work.status} cannot be reactivated.")
    if work.items[key]["state"] == ItemState.SUSPENDED:
        resume_item(work, key, Transition.REACTIVATE)
    else:
        ended = [child for child in work.items_of_stage(key) if work.items[child].get("ended_with_case")]
        make_transition(work, key, Transition.REACTIVATE)
        work.conditions_due = True
        for record in [work.items[child] for child in ended]:
            create_item(work, record["scope"], record["element"])
    work.status = "active"


def is_case(work: UnitOfWork) -> bool:
    return work.initial_state["kind"] == "cmmn"


def _get_plan_item(work: UnitOfWork) -> str:
    """Return the id of the item that stands for the instance's own case plan model."""
    root = next(key for key, record in work.scopes.items() if record["token"] is None)
    return next(key for key, record in work.items.items() if record["scope"] == root)


def _suspend(work: UnitOfWork, key: str, transition: Transition) -> None:
    suspend_item(work, key, transition)
    if is_case(work) and key == _get_plan_item(work):
        work.status = "suspended"


_COMMANDS: dict[str, Callable[[UnitOfWork, str, Transition], None]] = {
    "start": start_item,
    "occur": lambda work, key, _: make_occur(work, key),
    "disable": make_transition,
    "reenable": make_transition,
    "suspend_item": _suspend,
    "resume_item": resume_item,
    "terminate_item": end_item,
    "complete_item": end_item,
    "reactivate_item": start_item,
}
ITEM_COMMANDS = frozenset(_COMMANDS)


TRANSITIONS: dict[str, Transition] = {
    "start": Transition.MANUAL_START,
    "occur": Transition.OCCUR,
    "complete_item": Transition.COMPLETE,
    "disable": Transition.DISABLE,
    "reenable": Transition.REENABLE,
    "suspend_item": Transition.SUSPEND,
    "resume_item": Transition.RESUME,
    "terminate_item": Transition.TERMINATE,
    "reactivate_item": Transition.REACTIVATE,
}
_WORDS = {
    "start": "be started",
    "disable": "be disabled",
    "reenable": "be enabled again",
    "suspend_item": "be suspended",
    "resume_item": "be resumed",
    "terminate_item": "be terminated",
    "complete_item": "be completed",
    "reactivate_item": "be reactivated",
}
_NO_TIME = datetime.min.replace(tzinfo=UTC)


def list_allowed_commands(library: Library, state: InstanceState) -> dict[str, tuple[str, ...]]:
    """List the commands each item of a state accepts now, by item id; items that accept none are left out."""
    if state.get("status") != "active":
        return {}
    work = UnitOfWork(library, state, _NO_TIME)  # nothing happens, so nothing has a time
    found = {
        key: tuple(name for name in TRANSITIONS if find_refusal(work, key, name) is None)
        for key in work.items.keys_in_order()
    }
    return {key: names for key, names in found.items() if names}


def find_refusal(work: UnitOfWork, key: str, name: str) -> str | None:
    """Return why an item does not accept a command; None when it does."""
    record = work.items.get(key)
    if record is None:
        return "The item no longer exists."
    if is_within_suspended(work, work.scopes[record["scope"]]["token"]):
        return "The item is in a suspended stage or case."
    if not can_transition(work, key, TRANSITIONS[name]):
        return f"An item that is {record['state']} cannot {_WORDS.get(name, name)}."
    kind = get_item_node(work, key).kind
    if name == "reactivate_item" and kind is NodeKind.CASE_PLAN:
        return f"An item that is {record['state']} cannot be reactivated."  # a case is, by its own command
    if name == "occur" and kind is not NodeKind.USER_LISTENER:
        return "Only user event listeners can be made to occur."
    return _find_unfinished_reason(work, key, kind) if name == "complete_item" else None


def _find_unfinished_reason(work: UnitOfWork, key: str, kind: NodeKind) -> str | None:
    if kind in (NodeKind.PROCESS_TASK, NodeKind.CASE_TASK):
        return "The task completes when its process or case has ended."
    if kind in (NodeKind.STAGE, NodeKind.CASE_PLAN) and not can_complete(work, key):
        return "An item in the stage is under way, or is required and not completed."
    return None
