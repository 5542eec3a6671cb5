"""The standard events that each kind of plan item, and a case file item, can make; `reactivate` is not there yet."""

from processes.workflows.engine.definition import CASE_ACTIVITIES, NodeKind

_OF_ACTIVITIES = frozenset(
    {
        "create",
        "enable",
        "disable",
        "reenable",
        "start",
        "manualStart",
        "suspend",
        "resume",
        "parentSuspend",
        "parentResume",
        "complete",
        "terminate",
        "fault",
        "exit",
    }
)
_OF_MOMENTS = frozenset(
    {"create", "occur", "suspend", "resume", "terminate", "parentSuspend", "parentResume", "parentTerminate"}
)

OF_FILES = frozenset({"create", "update", "replace", "delete", "addChild", "removeChild"})


def transitions_of(kind: NodeKind) -> frozenset[str]:
    return _OF_ACTIVITIES if kind in CASE_ACTIVITIES else _OF_MOMENTS
