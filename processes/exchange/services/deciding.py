"""API_4 to API_7: the ERP says what became of its transaction, or stops. Answers are durable before they are given."""

from collections.abc import Callable
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext_noop

from messaging.models import ExchangeDatabase
from messaging.protocol import Body, Error
from processes.exchange.models import ExchangeProcess
from processes.exchange.services.holding import hold_process, judge_call
from processes.exchange.services.settling import commit, give_up, roll_back
from processes.exchange.services.telling import tell_contradiction
from processes.exchange.transitions import Call, Verdict


class RollBack(Body):
    error_text: Error


class Interrupt(Body):
    text: Error


class Abandon(Body):
    text: Error = ""


class Resolve(Body):
    committed: bool


def commit_process(*, database: ExchangeDatabase, process_id: UUID, at: datetime) -> bool:
    """API_4: the ERP has committed."""
    return _decide(Call.COMMIT, process_id, database, lambda process: commit(process, at=at, how="API_4"))


def roll_back_process(*, database: ExchangeDatabase, process_id: UUID, error_text: str, at: datetime) -> bool:
    """API_5: the ERP could not commit."""

    def back(process: ExchangeProcess) -> None:
        roll_back(process, at=at, how="API_5", error_text=error_text, is_setback=True)

    return _decide(Call.ROLL_BACK, process_id, database, back)


def interrupt_process(*, database: ExchangeDatabase, process_id: UUID, text: str, at: datetime) -> bool:
    """API_6: the ERP stops before it has prepared anything."""

    def stop(process: ExchangeProcess) -> None:
        status, template = ExchangeProcess.Status.INTERRUPTED, gettext_noop("Interrupted by the ERP: %(text)s")
        give_up(process, status, at=at, template=template, text=text)

    return _decide(Call.INTERRUPT, process_id, database, stop)


def abandon_process(*, database: ExchangeDatabase, process_id: UUID, text: str, at: datetime) -> bool:
    """API_6 before anything is prepared, API_5 after it: for an ERP that does not know how far it had come."""

    def stop(process: ExchangeProcess) -> None:
        if process.status == ExchangeProcess.Status.READY_TO_COMMIT:
            roll_back(process, at=at, how="abandon", error_text=text, is_setback=True)
        else:
            status, template = ExchangeProcess.Status.INTERRUPTED, gettext_noop("Abandoned by the ERP: %(text)s")
            give_up(process, status, at=at, template=template, text=text)

    return _decide(Call.ABANDON, process_id, database, stop)


def end_undelivered(*, process_id: UUID, fence: int, was_silent: bool, at: datetime) -> None:
    """End a process whose answer the ERP did not get whole, unless it has asked for it again or gone on meanwhile."""
    with transaction.atomic():
        process = hold_process(process_id)
        if process.fence != fence or judge_call(Call.INTERRUPT, process) != Verdict.DO:
            return
        status = ExchangeProcess.Status.INTERRUPTED
        text = gettext_noop("Interrupted: its answer was not delivered whole")
        give_up(process, status, at=at, template=text, was_silent=was_silent)


def resolve_process(*, database: ExchangeDatabase, process_id: UUID, committed: bool, at: datetime) -> bool:
    """API_7: what became of the transaction is known after all."""

    def settle(process: ExchangeProcess) -> None:
        if committed:
            commit(process, at=at, how="API_7")
        else:
            roll_back(process, at=at, how="API_7", is_setback=True)

    call = Call.RESOLVE_COMMITTED if committed else Call.RESOLVE_NOT_COMMITTED
    return _decide(call, process_id, database, settle)


def _decide(
    call: Call, process_id: UUID, database: ExchangeDatabase, settle: Callable[[ExchangeProcess], None]
) -> bool:
    """Settle the process if the call finds it waiting for that; return whether the ERP hears OK."""
    with transaction.atomic():
        process = hold_process(process_id, database=database)
        verdict = judge_call(call, process)
        if verdict == Verdict.DO:
            settle(process)
        elif verdict == Verdict.CONTRADICT:
            tell_contradiction(process, call=call)
    return verdict in (Verdict.DO, Verdict.REPEAT)
