"""The life of an exchange process, written once: what each call does in each status.

STARTED ── API_3 ──> READY_TO_COMMIT ── API_4, API_7 true, `committed` ──> CLEANUP ──> DONE
   │  └─ API_6 ─> INTERRUPTED │                                               └─> FAILED ── retry ──> CLEANUP
   └─ time ──> TIMED_OUT      ├─ API_5, API_7 false ──> ROLLED_BACK
                              └─ time ──> IN_DOUBT ── as READY_TO_COMMIT, without a limit of time

`abandon` is API_6 in STARTED and API_5 in READY_TO_COMMIT: for an ERP that does not know how far it had come.
"""

from enum import StrEnum

from processes.exchange.models import ExchangeProcess

Status, Decision = ExchangeProcess.Status, ExchangeProcess.Decision

LIVE = (Status.STARTED, Status.READY_TO_COMMIT, Status.CLEANUP, Status.FAILED)
UNSETTLED = (Status.READY_TO_COMMIT, Status.IN_DOUBT)


class Call(StrEnum):
    ACCEPT = "API_2"
    PREPARE = "API_3"
    COMMIT = "API_4"
    ROLL_BACK = "API_5"
    INTERRUPT = "API_6"
    ABANDON = "abandon"
    RESOLVE_COMMITTED = "API_7 true"
    RESOLVE_NOT_COMMITTED = "API_7 false"


class Verdict(StrEnum):
    DO = "do"
    REPEAT = "repeat"
    """It has been done before: answer OK, change nothing."""
    CANCEL = "cancel"
    CONTRADICT = "contradict"
    """Cancel, and tell staff: the ERP says the opposite of what was done."""


_DO: dict[Call, tuple[ExchangeProcess.Status, ...]] = {
    Call.ACCEPT: (Status.STARTED,),
    Call.PREPARE: (Status.STARTED,),
    Call.COMMIT: UNSETTLED,
    Call.ROLL_BACK: UNSETTLED,
    Call.INTERRUPT: (Status.STARTED,),
    Call.ABANDON: (Status.STARTED, Status.READY_TO_COMMIT),
    Call.RESOLVE_COMMITTED: UNSETTLED,
    Call.RESOLVE_NOT_COMMITTED: UNSETTLED,
}
_REPEAT: dict[Call, tuple[ExchangeProcess.Status, ...]] = {
    Call.PREPARE: (Status.READY_TO_COMMIT, Status.CLEANUP, Status.DONE),
    Call.COMMIT: (Status.CLEANUP, Status.FAILED, Status.DONE),
    Call.ROLL_BACK: (Status.ROLLED_BACK,),
    Call.INTERRUPT: (Status.INTERRUPTED,),
    Call.ABANDON: (Status.INTERRUPTED, Status.ROLLED_BACK),
}
_RESOLVES = {
    Call.RESOLVE_COMMITTED: Decision.COMMITTED,
    Call.RESOLVE_NOT_COMMITTED: Decision.NOT_COMMITTED,
}


def judge(call: Call, *, status: str, decision: str, was_ready: bool) -> Verdict:
    """Say what a call means to a process in this status. Whether a repeated API_3 is the same, its service decides."""
    if status in _DO[call]:
        return Verdict.DO
    if status in _REPEAT.get(call, ()):
        return Verdict.REPEAT
    if call == Call.COMMIT and was_ready:
        return Verdict.CONTRADICT
    if call in _RESOLVES and decision:
        return Verdict.REPEAT if decision == _RESOLVES[call] else Verdict.CONTRADICT
    return Verdict.CANCEL


def overlap(lane: list[str], other: list[str]) -> bool:
    """Say whether two lanes share a subsystem; one that names none is all of them."""
    return not lane or not other or not set(lane).isdisjoint(other)
