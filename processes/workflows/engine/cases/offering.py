"""Which commands an item takes at this moment: asked before each is carried out, and by whoever offers them."""

from datetime import UTC, datetime

from processes.workflows.engine.cases.completing import can_complete
from processes.workflows.engine.cases.lifecycle import Transition
from processes.workflows.engine.cases.moving import may, node_of
from processes.workflows.engine.cases.pausing import is_still
from processes.workflows.engine.definition import NodeKind
from processes.workflows.engine.execution.records import InstanceState, Library
from processes.workflows.engine.execution.unit_of_work import UnitOfWork

TRANSITIONS: dict[str, Transition] = {
    "start": Transition.MANUAL_START,
    "occur": Transition.OCCUR,
    "complete_item": Transition.COMPLETE,
    "disable": Transition.DISABLE,
    "reenable": Transition.REENABLE,
    "suspend_item": Transition.SUSPEND,
    "resume_item": Transition.RESUME,
    "terminate_item": Transition.TERMINATE,
}
_WORDS = {
    "start": "be started",
    "disable": "be disabled",
    "reenable": "be enabled again",
    "suspend_item": "be suspended",
    "resume_item": "be resumed",
    "terminate_item": "be terminated",
    "complete_item": "be completed",
}
_NO_TIME = datetime.min.replace(tzinfo=UTC)


def list_allowed_commands(library: Library, state: InstanceState) -> dict[str, tuple[str, ...]]:
    """Give the commands that the items of a state take now, by the id of the item; who takes none is left out."""
    if state.get("status") != "active":
        return {}
    work = UnitOfWork(library, state, _NO_TIME)  # nothing happens, so nothing has a time
    found = {
        key: tuple(name for name in TRANSITIONS if find_refusal(work, key, name) is None)
        for key in work.items.in_order()
    }
    return {key: names for key, names in found.items() if names}


def find_refusal(work: UnitOfWork, key: str, name: str) -> str | None:
    """Tell why an item does not take a command; None: it does."""
    record = work.items.get(key)
    if record is None:
        return "The item is not there any more."
    if is_still(work, work.scopes[record["scope"]]["token"]):
        return "What the item lies in is suspended."
    if not may(work, key, TRANSITIONS[name]):
        return f"An item that is {record['state']} cannot {_WORDS.get(name, name)}."
    kind = node_of(work, key).kind
    if name == "occur" and kind is not NodeKind.USER_LISTENER:
        return "Only user event listeners are made to occur."
    return _find_unfinished(work, key, kind) if name == "complete_item" else None


def _find_unfinished(work: UnitOfWork, key: str, kind: NodeKind) -> str | None:
    if kind in (NodeKind.PROCESS_TASK, NodeKind.CASE_TASK):
        return "The task completes when what it runs has ended."
    if kind in (NodeKind.STAGE, NodeKind.CASE_PLAN) and not can_complete(work, key):
        return "Something in the stage is under way, or is required and not done."
    return None
