"""The commands that items of a case take, and those that a case as a whole takes in its own way."""

from collections.abc import Callable, Mapping
from typing import Any

from processes.workflows.engine.cases.completing import can_complete
from processes.workflows.engine.cases.items import end, occur, start, wind_up
from processes.workflows.engine.cases.lifecycle import Transition
from processes.workflows.engine.cases.moving import may, move, node_of
from processes.workflows.engine.cases.pausing import is_still, resume, suspend
from processes.workflows.engine.definition import Kind
from processes.workflows.engine.execution.failures import NotPossible
from processes.workflows.engine.execution.working import Work


def command_item(work: Work, name: str, command: Mapping[str, Any]) -> None:
    key = str(command.get("item"))
    record = work.items.get(key)
    if record is None:
        raise NotPossible("The item is not there any more.")
    transition, carry_out = _COMMANDS[name]
    if is_still(work, work.scopes[record["scope"]]["token"]):
        raise NotPossible("What the item lies in is suspended.")
    if not may(work, key, transition):
        raise NotPossible(f"An item that is {record['state']} cannot {_WORDS.get(name, name)}.")
    carry_out(work, key, transition)


def suspend_case(work: Work) -> None:
    suspend(work, _plan(work))


def resume_case(work: Work) -> None:
    resume(work, _plan(work))


def terminate_case(work: Work) -> None:
    """End a case, also one that is suspended."""
    key = _plan(work)
    move(work, key, Transition.TERMINATE)
    wind_up(work, key, node_of(work, key))
    work.queue.clear()
    work.status = "terminated"


def close_case(work: Work) -> None:
    """Put a case away for good; nothing but a return leads out of it."""
    key = _plan(work)
    if not may(work, key, Transition.CLOSE):
        raise NotPossible(f"A case that is {work.status} cannot be closed.")
    move(work, key, Transition.CLOSE)
    wind_up(work, key, node_of(work, key))
    work.queue.clear()
    work.status = "closed"


def is_case(work: Work) -> bool:
    return work.given["kind"] == "cmmn"


def _plan(work: Work) -> str:
    """Give the item of the case plan model of the instance itself."""
    root = next(key for key, record in work.scopes.items() if record["token"] is None)
    return next(key for key, record in work.items.items() if record["scope"] == root)


def _complete(work: Work, key: str, transition: Transition) -> None:
    kind = node_of(work, key).kind
    if kind in (Kind.PROCESS_TASK, Kind.CASE_TASK):
        raise NotPossible("The task completes when what it runs has ended.")
    if kind in (Kind.STAGE, Kind.CASE_PLAN) and not can_complete(work, key):
        raise NotPossible("Something in the stage is under way, or is required and not done.")
    end(work, key, transition)


def _occur(work: Work, key: str, transition: Transition) -> None:
    if node_of(work, key).kind is not Kind.USER_LISTENER:
        raise NotPossible("Only user event listeners are made to occur.")
    occur(work, key)


def _suspend(work: Work, key: str, transition: Transition) -> None:
    if is_case(work) and key == _plan(work):
        suspend(work, key)
        work.status = "suspended"
    else:
        suspend(work, key)


def _resume(work: Work, key: str, transition: Transition) -> None:
    resume(work, key)


_COMMANDS: dict[str, tuple[Transition, Callable[[Work, str, Transition], None]]] = {
    "start": (Transition.MANUAL_START, start),
    "occur": (Transition.OCCUR, _occur),
    "disable": (Transition.DISABLE, move),
    "reenable": (Transition.REENABLE, move),
    "suspend_item": (Transition.SUSPEND, _suspend),
    "resume_item": (Transition.RESUME, _resume),
    "terminate_item": (Transition.TERMINATE, end),
    "complete_item": (Transition.COMPLETE, _complete),
}
ITEM_COMMANDS = frozenset(_COMMANDS)
_WORDS = {
    "start": "be started",
    "disable": "be disabled",
    "reenable": "be enabled again",
    "suspend_item": "be suspended",
    "resume_item": "be resumed",
    "terminate_item": "be terminated",
    "complete_item": "be completed",
}
