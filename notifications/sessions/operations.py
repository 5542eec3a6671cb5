"""What a handler may ask for while it repeats a session, one operation at a time, and how it is answered.

Plain values without the database: a handler returns operations from `next_operation()`, and each is answered by one of
its three methods, which a handler may override to act on the answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypedDict

from notifications.errors import SessionCode


@dataclass(frozen=True)
class RefuseReason:
    """Why an operation was not taken; the exchange goes on."""

    text: str
    session_code: SessionCode

    def __str__(self) -> str:
        return self.text


class Verdict(TypedDict):
    """An answer as webhooks and timelines have it."""

    op: str
    status: str
    reason: str
    session_code: int


class Operation:
    op: ClassVar[str]
    waits_for_answer = True
    """Whether the answer must not come before the operation is durable; else nobody looks at it."""

    def __init__(self) -> None:
        self.verdict: Verdict | None = None

    def acknowledge(self) -> None:
        """Hear that the operation has been taken."""
        self.verdict = make_verdict(self.op, "acknowledged", "", SessionCode.OK)

    def refuse(self, reason: RefuseReason) -> None:
        """Hear that the operation has been refused; nothing has changed, and others may follow."""
        self.verdict = make_verdict(self.op, "refused", reason.text, reason.session_code)

    def cancel(self) -> None:
        """Hear that the exchange is over: the process stops, or someone else has the session by now."""
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
    """Put these records in the place of all that the session had."""

    op = "rewrite"


class Finish(Operation):
    """End the repeat as failed: the session is saved again, or exhausted."""

    op = "finish"


def make_verdict(op: str, status: str, reason: str, code: SessionCode) -> Verdict:
    return {"op": op, "status": status, "reason": reason, "session_code": int(code)}
