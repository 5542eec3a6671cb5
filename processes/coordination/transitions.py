"""Every step of the document as a row: whose it is, upon what, what becomes of the event's row, what is told then.

`upon` is the message that a role waits for, `when` the status and the mark "is published" that it looks for; `to` is
what its row becomes. A step moves a row only from the statuses in `only_from`, so whatever comes twice, late or in
another order moves nothing. Where the document has a loop over pages of ten payloads (6 to 11, 19 to 23, 28 to 31) the
pages travel at once and the last of them ends it.

What is not in the document: 35.1 may also begin in any status before Committing, when the deadline has passed.
"""

from dataclasses import dataclass
from enum import StrEnum

from processes.coordination.messages import Told
from processes.coordination.statuses import EventStatus as E


class RoleKind(StrEnum):
    WRITER = "writer"
    COORDINATOR = "coordinator"
    READER = "reader"


@dataclass(frozen=True)
class Step:
    number: str
    role: RoleKind
    upon: Told | None = None
    when: tuple[E, bool] | None = None
    only_from: tuple[E, ...] = ()
    to: tuple[E, bool] | None = None
    tells: Told | None = None


W, C, R = RoleKind.WRITER, RoleKind.COORDINATOR, RoleKind.READER
BEFORE_COMMITTING = (E.ACTIVATED, E.PREPARING, E.PREPARED, E.PROCESSING, E.PROCESSED)
STEPS = (
    Step("1", W, to=(E.CREATED, False)),
    Step("2", W, when=(E.CREATED, False), to=(E.CREATED, True), tells=Told.EVENT_CREATED),
    Step("3", C, upon=Told.EVENT_CREATED, to=(E.CREATED, False)),
    Step("4", C, when=(E.CREATED, False), to=(E.CREATED, True), tells=Told.SAVING_BEGINS),
    Step("5", W, upon=Told.SAVING_BEGINS, only_from=(E.CREATED,), to=(E.SAVING, True)),
    Step("6", C, when=(E.CREATED, True), tells=Told.PAYLOADS_WANTED),
    Step("7", W, upon=Told.PAYLOADS_WANTED, tells=Told.PAYLOADS),
    Step("8", C, upon=Told.PAYLOADS, only_from=(E.CREATED,)),
    Step("9", C, tells=Told.PAYLOADS_SAVED),
    Step("10", W, upon=Told.PAYLOADS_SAVED),
    Step("11", C, upon=Told.PAYLOADS, only_from=(E.CREATED,), to=(E.SAVED, False)),
    Step("12", C, when=(E.SAVED, False), to=(E.SAVED, True), tells=Told.SAVING_ENDED),
    Step("13", W, upon=Told.SAVING_ENDED, only_from=(E.CREATED, E.SAVING), to=(E.SAVED, False)),
    Step("14", C, when=(E.SAVED, True), only_from=(E.SAVED,), to=(E.ACTIVATED, False)),
    Step("15", C, when=(E.ACTIVATED, False), to=(E.ACTIVATED, True), tells=Told.PREPARE),
    Step("16", R, upon=Told.PREPARE, to=(E.CREATED, False)),
    Step("17", R, when=(E.CREATED, False), to=(E.CREATED, True), tells=Told.PREPARING_BEGINS),
    Step("18", C, upon=Told.PREPARING_BEGINS, only_from=(E.ACTIVATED,), to=(E.PREPARING, False)),
    Step("19", C, when=(E.PREPARING, False), to=(E.PREPARING, True), tells=Told.PREPARE_PAYLOADS),
    Step("20", R, upon=Told.PREPARE_PAYLOADS, only_from=(E.CREATED,)),
    Step("21", R, tells=Told.PAYLOADS_PREPARED),
    Step("22", C, upon=Told.PAYLOADS_PREPARED),
    Step("23", C, only_from=(E.PREPARING,), to=(E.PREPARED, False)),
    Step("24", C, when=(E.PREPARED, False), to=(E.PREPARED, True), tells=Told.PROCESS),
    Step("25", R, upon=Told.PROCESS, only_from=(E.CREATED,), to=(E.PROCESSING, False)),
    Step("26", R, when=(E.PROCESSING, False), to=(E.PROCESSING, True), tells=Told.PROCESSING_BEGINS),
    Step("27", C, upon=Told.PROCESSING_BEGINS, only_from=(E.PREPARED,), to=(E.PROCESSING, False)),
    Step("28", R, when=(E.PROCESSING, True)),
    Step("29", R, tells=Told.PAYLOADS_PROCESSED),
    Step("30", C, upon=Told.PAYLOADS_PROCESSED),
    Step("31", R, only_from=(E.PROCESSING,), to=(E.PROCESSED, False)),
    Step("32", R, when=(E.PROCESSED, False), to=(E.PROCESSED, True), tells=Told.PROCESSED),
    Step("33", C, upon=Told.PROCESSED, only_from=(E.PREPARED, E.PROCESSING), to=(E.PROCESSED, False)),
    Step("34.1", C, when=(E.PROCESSED, False), only_from=(E.PROCESSED,), to=(E.COMMITTING, False)),
    Step("34.2", C, when=(E.COMMITTING, False), to=(E.COMMITTING, True), tells=Told.COMMIT),
    Step("34.3", R, upon=Told.COMMIT, only_from=(E.PROCESSED,), to=(E.COMMITTED, False)),
    Step("34.4", R, when=(E.COMMITTED, False), to=(E.COMMITTED, True), tells=Told.COMMITTED),
    Step("34.5", C, upon=Told.COMMITTED, only_from=(E.COMMITTING,), to=(E.COMMITTED, False)),
    Step("34.6", C, when=(E.COMMITTED, False), to=(E.COMMITTED, True), tells=Told.EVENT_COMMITTED),
    Step("34.7", W, upon=Told.EVENT_COMMITTED, only_from=(E.CREATED, E.SAVING, E.SAVED), to=(E.COMMITTED, False)),
    Step("35.1", C, when=(E.PROCESSED, False), only_from=BEFORE_COMMITTING, to=(E.CANCELING, False)),
    Step("35.2", C, when=(E.CANCELING, False), to=(E.CANCELING, True), tells=Told.CANCEL),
    Step("35.3", R, upon=Told.CANCEL, only_from=(E.CREATED, E.PROCESSING, E.PROCESSED), to=(E.CANCELED, False)),
    Step("35.4", R, when=(E.CANCELED, False), to=(E.CANCELED, True), tells=Told.CANCELED),
    Step("35.5", C, upon=Told.CANCELED, only_from=(E.CANCELING,), to=(E.CANCELED, False)),
    Step("35.6", C, when=(E.CANCELED, False), to=(E.CANCELED, True), tells=Told.EVENT_CANCELED),
    Step("35.7", W, upon=Told.EVENT_CANCELED, only_from=(E.CREATED, E.SAVING, E.SAVED), to=(E.CANCELED, False)),
)
BY_NUMBER = {step.number: step for step in STEPS}
TELLING = {
    role: {step.when[0]: step for step in STEPS if step.role == role and step.tells and step.when and not step.when[1]}
    for role in RoleKind
}
"""Of each role: by the status of a row that is not published, the step that publishes it."""
LEADING_ON = {
    role: {step.when[0] for step in STEPS if step.role == role and not step.tells and step.when and step.when[1]}
    for role in RoleKind
}
"""Of each role: the statuses that it acts upon by itself once it has published them."""
