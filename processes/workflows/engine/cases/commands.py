"""The commands that items of a case take, and those that a case as a whole takes in its own way."""

from collections.abc import Callable, Mapping
from typing import Any

from processes.workflows.engine.cases.items import end, occur, start, wind_up
from processes.workflows.engine.cases.lifecycle import Transition
from processes.workflows.engine.cases.moving import may, move, node_of
from processes.workflows.engine.cases.offering import TRANSITIONS, find_refusal
from processes.workflows.engine.cases.pausing import resume, suspend
from processes.workflows.engine.execution.errors import CommandRejected
from processes.workflows.engine.execution.unit_of_work import UnitOfWork


def command_item(work: UnitOfWork, name: str, command: Mapping[str, Any]) -> None:
    key = str(command.get("item"))
    refusal = find_refusal(work, key, name)
    if refusal is not None:
        raise CommandRejected(refusal)
    _COMMANDS[name](work, key, TRANSITIONS[name])


def suspend_case(work: UnitOfWork) -> None:
    suspend(work, _plan(work))


def resume_case(work: UnitOfWork) -> None:
    resume(work, _plan(work))


def terminate_case(work: UnitOfWork) -> None:
    """End a case, also one that is suspended."""
    key = _plan(work)
    move(work, key, Transition.TERMINATE)
    wind_up(work, key, node_of(work, key))
    work.queue.clear()
    work.status = "terminated"


def close_case(work: UnitOfWork) -> None:
    """Put a case away for good; nothing but a return leads out of it."""
    # One that was terminated after its start had failed has no plan.
    key = _plan(work) if work.items.records else None
    can_close = work.status == "terminated" if key is None else may(work, key, Transition.CLOSE)
    if not can_close:
        raise CommandRejected(f"A case that is {work.status} cannot be closed.")
    if key is not None:
        move(work, key, Transition.CLOSE)
        wind_up(work, key, node_of(work, key))
    work.queue.clear()
    work.status = "closed"


def is_case(work: UnitOfWork) -> bool:
    return work.given["kind"] == "cmmn"


def _plan(work: UnitOfWork) -> str:
    """Give the item of the case plan model of the instance itself."""
    root = next(key for key, record in work.scopes.items() if record["token"] is None)
    return next(key for key, record in work.items.items() if record["scope"] == root)


def _occur(work: UnitOfWork, key: str, transition: Transition) -> None:
    occur(work, key)


def _suspend(work: UnitOfWork, key: str, transition: Transition) -> None:
    if is_case(work) and key == _plan(work):
        suspend(work, key)
        work.status = "suspended"
    else:
        suspend(work, key)


def _resume(work: UnitOfWork, key: str, transition: Transition) -> None:
    resume(work, key)


_COMMANDS: dict[str, Callable[[UnitOfWork, str, Transition], None]] = {
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
