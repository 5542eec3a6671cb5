"""The numbered steps of coordination as a table; `docs/coordination-steps.md` says each in words.

A step has a role, and begins with a message (`on_message`) or with a row in a status that is published or not
(`on_status`); then the role's row of the event is moved (`to`) and a message sent (`sends`). A row is moved only from
the statuses in `only_from`, so a message that comes twice, late or out of order moves nothing. Where the steps are a
loop over pages of ten payloads (6 to 11, 19 to 23, 28 to 31) the pages travel at once and the last of them ends it.

Beyond the numbered steps 35.1 may begin in any status before Committing, when the deadline has passed.
"""

from dataclasses import dataclass
from enum import StrEnum

from processes.coordination.protocol.messages import MessageType as M
from processes.coordination.protocol.statuses import EventStatus as E


class RoleKind(StrEnum):
    WRITER = "writer"
    COORDINATOR = "coordinator"
    READER = "reader"


@dataclass(frozen=True)
class ProtocolStep:
    number: str
    role: RoleKind
    on_message: M | None = None
    on_status: tuple[E, bool] | None = None
    """The status, and whether it is published."""
    only_from: tuple[E, ...] = ()
    to: tuple[E, bool] | None = None
    """The new status, and whether it counts as published at once."""
    sends: M | None = None


S = ProtocolStep
W, C, R = RoleKind.WRITER, RoleKind.COORDINATOR, RoleKind.READER
BEFORE_COMMITTING = (E.ACTIVATED, E.PREPARING, E.PREPARED, E.PROCESSING, E.PROCESSED)
STEPS = (
    S("1", W, to=(E.CREATED, False)),
    S("2", W, on_status=(E.CREATED, False), to=(E.CREATED, True), sends=M.EVENT_CREATED),
    S("3", C, on_message=M.EVENT_CREATED, to=(E.CREATED, False)),
    S("4", C, on_status=(E.CREATED, False), to=(E.CREATED, True), sends=M.SAVING_BEGINS),
    S("5", W, on_message=M.SAVING_BEGINS, only_from=(E.CREATED,), to=(E.SAVING, True)),
    S("6", C, on_status=(E.CREATED, True), sends=M.PAYLOADS_WANTED),
    S("7", W, on_message=M.PAYLOADS_WANTED, sends=M.PAYLOADS),
    S("8", C, on_message=M.PAYLOADS, only_from=(E.CREATED,)),
    S("9", C, sends=M.PAYLOADS_SAVED),
    S("10", W, on_message=M.PAYLOADS_SAVED),
    S("11", C, on_message=M.PAYLOADS, only_from=(E.CREATED,), to=(E.SAVED, False)),
    S("12", C, on_status=(E.SAVED, False), to=(E.SAVED, True), sends=M.SAVING_ENDED),
    S("13", W, on_message=M.SAVING_ENDED, only_from=(E.CREATED, E.SAVING), to=(E.SAVED, False)),
    S("14", C, on_status=(E.SAVED, True), only_from=(E.SAVED,), to=(E.ACTIVATED, False)),
    S("15", C, on_status=(E.ACTIVATED, False), to=(E.ACTIVATED, True), sends=M.PREPARE),
    S("16", R, on_message=M.PREPARE, to=(E.CREATED, False)),
    S("17", R, on_status=(E.CREATED, False), to=(E.CREATED, True), sends=M.PREPARING_BEGINS),
    S("18", C, on_message=M.PREPARING_BEGINS, only_from=(E.ACTIVATED,), to=(E.PREPARING, False)),
    S("19", C, on_status=(E.PREPARING, False), to=(E.PREPARING, True), sends=M.PREPARE_PAYLOADS),
    S("20", R, on_message=M.PREPARE_PAYLOADS, only_from=(E.CREATED,)),
    S("21", R, sends=M.PAYLOADS_PREPARED),
    S("22", C, on_message=M.PAYLOADS_PREPARED),
    S("23", C, only_from=(E.PREPARING,), to=(E.PREPARED, False)),
    S("24", C, on_status=(E.PREPARED, False), to=(E.PREPARED, True), sends=M.PROCESS),
    S("25", R, on_message=M.PROCESS, only_from=(E.CREATED,), to=(E.PROCESSING, False)),
    S("26", R, on_status=(E.PROCESSING, False), to=(E.PROCESSING, True), sends=M.PROCESSING_BEGINS),
    S("27", C, on_message=M.PROCESSING_BEGINS, only_from=(E.PREPARED,), to=(E.PROCESSING, False)),
    S("28", R, on_status=(E.PROCESSING, True)),
    S("29", R, sends=M.PAYLOADS_PROCESSED),
    S("30", C, on_message=M.PAYLOADS_PROCESSED),
    S("31", R, only_from=(E.PROCESSING,), to=(E.PROCESSED, False)),
    S("32", R, on_status=(E.PROCESSED, False), to=(E.PROCESSED, True), sends=M.PROCESSED),
    S("33", C, on_message=M.PROCESSED, only_from=(E.PREPARED, E.PROCESSING), to=(E.PROCESSED, False)),
    S("34.1", C, on_status=(E.PROCESSED, False), only_from=(E.PROCESSED,), to=(E.COMMITTING, False)),
    S("34.2", C, on_status=(E.COMMITTING, False), to=(E.COMMITTING, True), sends=M.COMMIT),
    S("34.3", R, on_message=M.COMMIT, only_from=(E.PROCESSED,), to=(E.COMMITTED, False)),
    S("34.4", R, on_status=(E.COMMITTED, False), to=(E.COMMITTED, True), sends=M.COMMITTED),
    S("34.5", C, on_message=M.COMMITTED, only_from=(E.COMMITTING,), to=(E.COMMITTED, False)),
    S("34.6", C, on_status=(E.COMMITTED, False), to=(E.COMMITTED, True), sends=M.EVENT_COMMITTED),
    S("34.7", W, on_message=M.EVENT_COMMITTED, only_from=(E.CREATED, E.SAVING, E.SAVED), to=(E.COMMITTED, False)),
    S("35.1", C, on_status=(E.PROCESSED, False), only_from=BEFORE_COMMITTING, to=(E.CANCELING, False)),
    S("35.2", C, on_status=(E.CANCELING, False), to=(E.CANCELING, True), sends=M.CANCEL),
    S("35.3", R, on_message=M.CANCEL, only_from=(E.CREATED, E.PROCESSING, E.PROCESSED), to=(E.CANCELED, False)),
    S("35.4", R, on_status=(E.CANCELED, False), to=(E.CANCELED, True), sends=M.CANCELED),
    S("35.5", C, on_message=M.CANCELED, only_from=(E.CANCELING,), to=(E.CANCELED, False)),
    S("35.6", C, on_status=(E.CANCELED, False), to=(E.CANCELED, True), sends=M.EVENT_CANCELED),
    S("35.7", W, on_message=M.EVENT_CANCELED, only_from=(E.CREATED, E.SAVING, E.SAVED), to=(E.CANCELED, False)),
)
BY_NUMBER = {step.number: step for step in STEPS}
PUBLISHING = {
    role: {
        step.on_status[0]: step
        for step in STEPS
        if step.role == role and step.sends and step.on_status and not step.on_status[1]
    }
    for role in RoleKind
}
"""By role: the step that publishes a row, by the row's status."""
SELF_DRIVEN = {
    role: {
        step.on_status[0]
        for step in STEPS
        if step.role == role and not step.sends and step.on_status and step.on_status[1]
    }
    for role in RoleKind
}
"""By role: the statuses in which it goes on without a message, once they are published."""
