"""The operations that a handler asks for while it repeats a session, one at a time, and their answers.

Plain values without the database: a handler returns operations from `next_operation()`, and each is answered by a call
of one of its three methods, which a handler may override to act on the answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypedDict

from notifications.errors import SessionCode


@dataclass(frozen=True)
class RefuseReason:
    """Why an operation was refused; the repeat goes on."""

    text: str
    session_code: SessionCode

    def __str__(self) -> str:
        return self.text


class Verdict(TypedDict):
    """An answer in the form of webhooks and timelines."""

    op: str
    status: str
    reason: str
    session_code: int


class Operation:
    op: ClassVar[str]
    waits_for_answer = True
    """Whether the answer comes when the operation is durable; else there is none."""

    def __init__(self) -> None:
        self.verdict: Verdict | None = None

    def acknowledge(self) -> None:
        """Called when the operation has been carried out."""
        self.verdict = make_verdict(self.op, "acknowledged", "", SessionCode.OK)

    def refuse(self, reason: RefuseReason) -> None:
        """Called when the operation was refused: nothing has changed, and others may follow."""
        self.verdict = make_verdict(self.op, "refused", reason.text, reason.session_code)

    def cancel(self) -> None:
        """Called when the repeat is over: the process stops, or somebody else has the session."""
        self.verdict = make_verdict(self.op, "cancelled", "", SessionCode.OK)


class Delete(Operation):
    """End the repeat with success: the session is deleted."""

    op = "delete"

    def __init__(self, *, waits_for_answer: bool = True) -> None:
        super().__init__()
        self.waits_for_answer = waits_for_answer


class Append(Operation):
    """Add records at the end of the session."""

    op = "append"

    def __init__(self, records: Sequence[Any]) -> None:
        super().__init__()
        self.records = records


class Rewrite(Append):
    """Replace all records of the session by these."""

    op = "rewrite"


class Finish(Operation):
    """End the repeat as failed: the session is saved again, or exhausted."""

    op = "finish"


def make_verdict(op: str, status: str, reason: str, code: SessionCode) -> Verdict:
    return {"op": op, "status": status, "reason": reason, "session_code": int(code)}
