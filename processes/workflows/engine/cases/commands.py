"""The commands that items of a case take, and those that a case as a whole takes in its own way."""

from collections.abc import Callable, Mapping
from typing import Any

from processes.workflows.engine.cases.items import end, occur, start, wind_up
from processes.workflows.engine.cases.lifecycle import Transition
from processes.workflows.engine.cases.moving import may, move, node_of
from processes.workflows.engine.cases.offering import TRANSITIONS, find_refusal
from processes.workflows.engine.cases.pausing import resume, suspend
from processes.workflows.engine.execution.failures import NotPossible
from processes.workflows.engine.execution.working import Work


def command_item(work: Work, name: str, command: Mapping[str, Any]) -> None:
    key = str(command.get("item"))
    refusal = find_refusal(work, key, name)
    if refusal is not None:
        raise NotPossible(refusal)
    _COMMANDS[name](work, key, TRANSITIONS[name])


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
    # One that was terminated after its start had failed has no plan.
    key = _plan(work) if work.items.records else None
    can_close = work.status == "terminated" if key is None else may(work, key, Transition.CLOSE)
    if not can_close:
        raise NotPossible(f"A case that is {work.status} cannot be closed.")
    if key is not None:
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


def _occur(work: Work, key: str, transition: Transition) -> None:
    occur(work, key)


def _suspend(work: Work, key: str, transition: Transition) -> None:
    if is_case(work) and key == _plan(work):
        suspend(work, key)
        work.status = "suspended"
    else:
        suspend(work, key)


def _resume(work: Work, key: str, transition: Transition) -> None:
    resume(work, key)


_COMMANDS: dict[str, Callable[[Work, str, Transition], None]] = {
    "start": start,
    "occur": _occur,
    "disable": move,
    "reenable": move,
    "suspend_item": _suspend,
    "resume_item": _resume,
    "terminate_item": end,
    "complete_item": end,
}
ITEM_COMMANDS = frozenset(_COMMANDS)
