"""The life cycle of CMMN 1.1: which transitions an item may make in which state, and the state they lead to.

Three tables: stages and tasks; milestones and event listeners; the case itself. `PREVIOUS` stands for the state that
an item was in when its parent was suspended.
"""

from collections.abc import Mapping
from enum import StrEnum

from processes.workflows.engine.definition import NodeKind


class ItemState(StrEnum):
    AVAILABLE = "available"
    ENABLED = "enabled"
    DISABLED = "disabled"
    ACTIVE = "active"
    SUSPENDED = "suspended"
    COMPLETED = "completed"
    TERMINATED = "terminated"
    FAILED = "failed"
    CLOSED = "closed"


class Transition(StrEnum):
    CREATE = "create"
    ENABLE = "enable"
    START = "start"
    MANUAL_START = "manualStart"
    DISABLE = "disable"
    REENABLE = "reenable"
    SUSPEND = "suspend"
    RESUME = "resume"
    COMPLETE = "complete"
    TERMINATE = "terminate"
    FAULT = "fault"
    REACTIVATE = "reactivate"
    EXIT = "exit"
    OCCUR = "occur"
    PARENT_SUSPEND = "parentSuspend"
    PARENT_RESUME = "parentResume"
    PARENT_TERMINATE = "parentTerminate"
    CLOSE = "close"


PREVIOUS = "before"
ENDED = frozenset({ItemState.COMPLETED, ItemState.TERMINATED})
"""States that nothing leads out of, but that a case can be closed in or reactivated from."""
SETTLED = frozenset({*ENDED, ItemState.DISABLED, ItemState.FAILED})
"""States that do not keep a stage from completing."""

_S, _T = ItemState, Transition
_Table = Mapping[tuple[str, str], str]

ACTIVITY: _Table = {
    (_S.AVAILABLE, _T.ENABLE): _S.ENABLED,
    (_S.AVAILABLE, _T.START): _S.ACTIVE,
    (_S.ENABLED, _T.MANUAL_START): _S.ACTIVE,
    (_S.ENABLED, _T.DISABLE): _S.DISABLED,
    (_S.DISABLED, _T.REENABLE): _S.ENABLED,
    (_S.ACTIVE, _T.SUSPEND): _S.SUSPENDED,
    (_S.SUSPENDED, _T.RESUME): _S.ACTIVE,
    (_S.ACTIVE, _T.COMPLETE): _S.COMPLETED,
    (_S.ACTIVE, _T.TERMINATE): _S.TERMINATED,
    (_S.ACTIVE, _T.FAULT): _S.FAILED,
    (_S.FAILED, _T.REACTIVATE): _S.ACTIVE,
    **{
        (state, _T.EXIT): _S.TERMINATED
        for state in (_S.AVAILABLE, _S.ENABLED, _S.DISABLED, _S.ACTIVE, _S.SUSPENDED, _S.FAILED)
    },
    **{(state, _T.PARENT_SUSPEND): _S.SUSPENDED for state in (_S.AVAILABLE, _S.ENABLED, _S.DISABLED, _S.ACTIVE)},
    (_S.SUSPENDED, _T.PARENT_RESUME): PREVIOUS,
}
OCCURRENCE: _Table = {
    (_S.AVAILABLE, _T.OCCUR): _S.COMPLETED,
    (_S.AVAILABLE, _T.SUSPEND): _S.SUSPENDED,
    (_S.SUSPENDED, _T.RESUME): _S.AVAILABLE,
    (_S.AVAILABLE, _T.TERMINATE): _S.TERMINATED,
    (_S.AVAILABLE, _T.PARENT_TERMINATE): _S.TERMINATED,
    (_S.SUSPENDED, _T.PARENT_TERMINATE): _S.TERMINATED,
    (_S.AVAILABLE, _T.PARENT_SUSPEND): _S.SUSPENDED,
    (_S.SUSPENDED, _T.PARENT_RESUME): PREVIOUS,
}
CASE: _Table = {
    (_S.ACTIVE, _T.COMPLETE): _S.COMPLETED,
    (_S.ACTIVE, _T.TERMINATE): _S.TERMINATED,
    (_S.SUSPENDED, _T.TERMINATE): _S.TERMINATED,
    (_S.ACTIVE, _T.EXIT): _S.TERMINATED,
    (_S.SUSPENDED, _T.EXIT): _S.TERMINATED,
    (_S.ACTIVE, _T.SUSPEND): _S.SUSPENDED,
    (_S.SUSPENDED, _T.RESUME): _S.ACTIVE,
    (_S.ACTIVE, _T.PARENT_SUSPEND): _S.SUSPENDED,
    (_S.SUSPENDED, _T.PARENT_RESUME): PREVIOUS,
    **{(state, _T.REACTIVATE): _S.ACTIVE for state in (_S.COMPLETED, _S.TERMINATED, _S.SUSPENDED)},
    **{(state, _T.CLOSE): _S.CLOSED for state in (_S.COMPLETED, _S.TERMINATED, _S.SUSPENDED)},
}
_TABLES = {
    NodeKind.CASE_PLAN: CASE,
    NodeKind.MILESTONE: OCCURRENCE,
    NodeKind.TIMER_LISTENER: OCCURRENCE,
    NodeKind.USER_LISTENER: OCCURRENCE,
}


def find_next_state(kind: NodeKind, state: str, transition: str) -> str | None:
    """Return the state that a transition leads to; None where the life cycle does not allow it."""
    # Members of a StrEnum hash and compare like their text, so records need no conversion.
    return _TABLES.get(kind, ACTIVITY).get((state, transition))


def get_parent_exit(kind: NodeKind) -> Transition:
    """Return the transition by which an item ends when its parent does."""
    return Transition.EXIT if _TABLES.get(kind, ACTIVITY) is not OCCURRENCE else Transition.PARENT_TERMINATE
