"""Every step of the document as a row: whose it is, upon what, what becomes of the event's row, what is told then.

`upon` is the message that a role waits for, `when` the status and the mark "is published" that it looks for; `to` is
what its row becomes. A step moves a row only from the statuses in `only_from`, so whatever comes twice, late or in
another order moves nothing. Where the document has a loop over pages of ten payloads (6 to 11, 19 to 23, 28 to 31) the
pages travel at once and the last of them ends it.

What is not in the document: 35.1 may also begin in any status before Committing, when the deadline has passed.
"""

from dataclasses import dataclass
from enum import StrEnum

from processes.coordination.protocol.messages import MessageType
from processes.coordination.protocol.statuses import EventStatus as E


class RoleKind(StrEnum):
    WRITER = "writer"
    COORDINATOR = "coordinator"
    READER = "reader"


@dataclass(frozen=True)
class ProtocolStep:
    number: str
    role: RoleKind
    upon: MessageType | None = None
    when: tuple[E, bool] | None = None
    only_from: tuple[E, ...] = ()
    to: tuple[E, bool] | None = None
    tells: MessageType | None = None


W, C, R = RoleKind.WRITER, RoleKind.COORDINATOR, RoleKind.READER
BEFORE_COMMITTING = (E.ACTIVATED, E.PREPARING, E.PREPARED, E.PROCESSING, E.PROCESSED)
STEPS = (
    ProtocolStep("1", W, to=(E.CREATED, False)),
    ProtocolStep("2", W, when=(E.CREATED, False), to=(E.CREATED, True), tells=MessageType.EVENT_CREATED),
    ProtocolStep("3", C, upon=MessageType.EVENT_CREATED, to=(E.CREATED, False)),
    ProtocolStep("4", C, when=(E.CREATED, False), to=(E.CREATED, True), tells=MessageType.SAVING_BEGINS),
    ProtocolStep("5", W, upon=MessageType.SAVING_BEGINS, only_from=(E.CREATED,), to=(E.SAVING, True)),
    ProtocolStep("6", C, when=(E.CREATED, True), tells=MessageType.PAYLOADS_WANTED),
    ProtocolStep("7", W, upon=MessageType.PAYLOADS_WANTED, tells=MessageType.PAYLOADS),
    ProtocolStep("8", C, upon=MessageType.PAYLOADS, only_from=(E.CREATED,)),
    ProtocolStep("9", C, tells=MessageType.PAYLOADS_SAVED),
    ProtocolStep("10", W, upon=MessageType.PAYLOADS_SAVED),
    ProtocolStep("11", C, upon=MessageType.PAYLOADS, only_from=(E.CREATED,), to=(E.SAVED, False)),
    ProtocolStep("12", C, when=(E.SAVED, False), to=(E.SAVED, True), tells=MessageType.SAVING_ENDED),
    ProtocolStep("13", W, upon=MessageType.SAVING_ENDED, only_from=(E.CREATED, E.SAVING), to=(E.SAVED, False)),
    ProtocolStep("14", C, when=(E.SAVED, True), only_from=(E.SAVED,), to=(E.ACTIVATED, False)),
    ProtocolStep("15", C, when=(E.ACTIVATED, False), to=(E.ACTIVATED, True), tells=MessageType.PREPARE),
    ProtocolStep("16", R, upon=MessageType.PREPARE, to=(E.CREATED, False)),
    ProtocolStep("17", R, when=(E.CREATED, False), to=(E.CREATED, True), tells=MessageType.PREPARING_BEGINS),
    ProtocolStep("18", C, upon=MessageType.PREPARING_BEGINS, only_from=(E.ACTIVATED,), to=(E.PREPARING, False)),
    ProtocolStep("19", C, when=(E.PREPARING, False), to=(E.PREPARING, True), tells=MessageType.PREPARE_PAYLOADS),
    ProtocolStep("20", R, upon=MessageType.PREPARE_PAYLOADS, only_from=(E.CREATED,)),
    ProtocolStep("21", R, tells=MessageType.PAYLOADS_PREPARED),
    ProtocolStep("22", C, upon=MessageType.PAYLOADS_PREPARED),
    ProtocolStep("23", C, only_from=(E.PREPARING,), to=(E.PREPARED, False)),
    ProtocolStep("24", C, when=(E.PREPARED, False), to=(E.PREPARED, True), tells=MessageType.PROCESS),
    ProtocolStep("25", R, upon=MessageType.PROCESS, only_from=(E.CREATED,), to=(E.PROCESSING, False)),
    ProtocolStep("26", R, when=(E.PROCESSING, False), to=(E.PROCESSING, True), tells=MessageType.PROCESSING_BEGINS),
    ProtocolStep("27", C, upon=MessageType.PROCESSING_BEGINS, only_from=(E.PREPARED,), to=(E.PROCESSING, False)),
    ProtocolStep("28", R, when=(E.PROCESSING, True)),
    ProtocolStep("29", R, tells=MessageType.PAYLOADS_PROCESSED),
    ProtocolStep("30", C, upon=MessageType.PAYLOADS_PROCESSED),
    ProtocolStep("31", R, only_from=(E.PROCESSING,), to=(E.PROCESSED, False)),
    ProtocolStep("32", R, when=(E.PROCESSED, False), to=(E.PROCESSED, True), tells=MessageType.PROCESSED),
    ProtocolStep("33", C, upon=MessageType.PROCESSED, only_from=(E.PREPARED, E.PROCESSING), to=(E.PROCESSED, False)),
    ProtocolStep("34.1", C, when=(E.PROCESSED, False), only_from=(E.PROCESSED,), to=(E.COMMITTING, False)),
    ProtocolStep("34.2", C, when=(E.COMMITTING, False), to=(E.COMMITTING, True), tells=MessageType.COMMIT),
    ProtocolStep("34.3", R, upon=MessageType.COMMIT, only_from=(E.PROCESSED,), to=(E.COMMITTED, False)),
    ProtocolStep("34.4", R, when=(E.COMMITTED, False), to=(E.COMMITTED, True), tells=MessageType.COMMITTED),
    ProtocolStep("34.5", C, upon=MessageType.COMMITTED, only_from=(E.COMMITTING,), to=(E.COMMITTED, False)),
    ProtocolStep("34.6", C, when=(E.COMMITTED, False), to=(E.COMMITTED, True), tells=MessageType.EVENT_COMMITTED),
    ProtocolStep(
        "34.7", W, upon=MessageType.EVENT_COMMITTED, only_from=(E.CREATED, E.SAVING, E.SAVED), to=(E.COMMITTED, False)
    ),
    ProtocolStep("35.1", C, when=(E.PROCESSED, False), only_from=BEFORE_COMMITTING, to=(E.CANCELING, False)),
    ProtocolStep("35.2", C, when=(E.CANCELING, False), to=(E.CANCELING, True), tells=MessageType.CANCEL),
    ProtocolStep(
        "35.3", R, upon=MessageType.CANCEL, only_from=(E.CREATED, E.PROCESSING, E.PROCESSED), to=(E.CANCELED, False)
    ),
    ProtocolStep("35.4", R, when=(E.CANCELED, False), to=(E.CANCELED, True), tells=MessageType.CANCELED),
    ProtocolStep("35.5", C, upon=MessageType.CANCELED, only_from=(E.CANCELING,), to=(E.CANCELED, False)),
    ProtocolStep("35.6", C, when=(E.CANCELED, False), to=(E.CANCELED, True), tells=MessageType.EVENT_CANCELED),
    ProtocolStep(
        "35.7", W, upon=MessageType.EVENT_CANCELED, only_from=(E.CREATED, E.SAVING, E.SAVED), to=(E.CANCELED, False)
    ),
)
BY_NUMBER = {step.number: step for step in STEPS}
PUBLISHING = {
    role: {step.when[0]: step for step in STEPS if step.role == role and step.tells and step.when and not step.when[1]}
    for role in RoleKind
}
"""Of each role: by the status of a row that is not published, the step that publishes it."""
SELF_DRIVEN = {
    role: {step.when[0] for step in STEPS if step.role == role and not step.tells and step.when and step.when[1]}
    for role in RoleKind
}
"""Of each role: the statuses that it acts upon by itself once it has published them."""
