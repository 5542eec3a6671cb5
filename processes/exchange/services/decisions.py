"""API_2 and API_4 to API_7: the ERP decides about its process. A decision is durable before it is answered."""

from collections.abc import Callable
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext, gettext_noop

from config.common.errors import Invalid
from messaging.models import ExchangeDatabase
from messaging.protocol import Body, Error, Id
from processes.exchange.models import ExchangeProcess
from processes.exchange.services.processes import judge_call, lock_process, report_contradiction, write_process_log
from processes.exchange.services.settlement import (
    abort_process,
    requests_of,
    requeue_after_setback,
    settle_committed,
    settle_rolled_back,
)
from processes.exchange.transitions import Call, Verdict

Status = ExchangeProcess.Status


class Accept(Body):
    messages: list[Id]


class RollBack(Body):
    error_text: Error


class Interrupt(Body):
    text: Error


class Abandon(Body):
    text: Error = ""


class Resolve(Body):
    committed: bool


def accept_messages(*, database: ExchangeDatabase, process_id: UUID, body: Accept, at: datetime) -> bool:
    """API_2: narrow the process to these messages, the others are free at once; return whether the ERP hears OK."""
    with transaction.atomic():
        process = lock_process(process_id, database=database)
        if judge_call(Call.ACCEPT, process) != Verdict.DO:
            return False
        _narrow(process, set(body.messages), at=at)
        return True


def commit_process(*, database: ExchangeDatabase, process_id: UUID, at: datetime) -> bool:
    """API_4: the ERP has committed; return whether it hears OK, as all below do."""
    return _decide(Call.COMMIT, process_id, database, lambda process: settle_committed(process, at=at, how="API_4"))


def roll_back_process(*, database: ExchangeDatabase, process_id: UUID, error_text: str, at: datetime) -> bool:
    """API_5: the ERP could not commit."""

    def settle(process: ExchangeProcess) -> None:
        settle_rolled_back(process, at=at, how="API_5", error_text=error_text, is_setback=True)

    return _decide(Call.ROLL_BACK, process_id, database, settle)


def interrupt_process(*, database: ExchangeDatabase, process_id: UUID, text: str, at: datetime) -> bool:
    """API_6: the ERP stops before it has prepared anything."""

    def settle(process: ExchangeProcess) -> None:
        template = gettext_noop("Interrupted by the ERP: %(text)s")
        abort_process(process, Status.INTERRUPTED, at=at, template=template, text=text)

    return _decide(Call.INTERRUPT, process_id, database, settle)


def abandon_process(*, database: ExchangeDatabase, process_id: UUID, text: str, at: datetime) -> bool:
    """API_6 before anything is prepared, API_5 after it: for an ERP that does not know how far it had come."""

    def settle(process: ExchangeProcess) -> None:
        if process.status == Status.READY_TO_COMMIT:
            settle_rolled_back(process, at=at, how="abandon", error_text=text, is_setback=True)
        else:
            template = gettext_noop("Abandoned by the ERP: %(text)s")
            abort_process(process, Status.INTERRUPTED, at=at, template=template, text=text)

    return _decide(Call.ABANDON, process_id, database, settle)


def resolve_process(*, database: ExchangeDatabase, process_id: UUID, committed: bool, at: datetime) -> bool:
    """API_7: the ERP knows after all what became of its transaction."""

    def settle(process: ExchangeProcess) -> None:
        if committed:
            settle_committed(process, at=at, how="API_7")
        else:
            settle_rolled_back(process, at=at, how="API_7", is_setback=True)

    call = Call.RESOLVE_COMMITTED if committed else Call.RESOLVE_NOT_COMMITTED
    return _decide(call, process_id, database, settle)


def end_undelivered(*, process_id: UUID, fence: int, was_silent: bool, at: datetime) -> None:
    """End a process whose API_1 answer the ERP did not get whole, unless it has asked again or gone on meanwhile."""
    with transaction.atomic():
        process = lock_process(process_id)
        if process.fence != fence or judge_call(Call.INTERRUPT, process) != Verdict.DO:
            return
        text = gettext_noop("Interrupted: the response was not received in full")
        abort_process(process, Status.INTERRUPTED, at=at, template=text, was_silent=was_silent)


def _decide(
    call: Call, process_id: UUID, database: ExchangeDatabase, settle: Callable[[ExchangeProcess], None]
) -> bool:
    """Settle the process if its status allows the call; return whether the ERP hears OK."""
    with transaction.atomic():
        process = lock_process(process_id, database=database)
        verdict = judge_call(call, process)
        if verdict == Verdict.DO:
            settle(process)
        elif verdict == Verdict.CONTRADICT:
            report_contradiction(process, call=call)
    return verdict in (Verdict.DO, Verdict.REPEAT)


def _narrow(process: ExchangeProcess, accepted: set[str], *, at: datetime) -> None:
    offered = dict(requests_of(process).values_list("public_id", "pk"))
    unknown = sorted(accepted - offered.keys())
    if unknown:
        rule = gettext("Not in this process: %(ids)s.") % {"ids": ", ".join(unknown)}
        raise Invalid({"messages": [rule]})
    left_out = [pk for public_id, pk in offered.items() if public_id not in accepted]
    if left_out:
        process.entries.filter(message__in=left_out).update(is_left_out=True)
        requeue_after_setback(requests_of(process).filter(pk__in=left_out))
        write_process_log(process, gettext_noop("Messages left out by the ERP: %(count)s"), count=len(left_out))
    if not accepted:
        text = gettext_noop("Interrupted: the ERP accepted none of the messages")
        abort_process(process, Status.INTERRUPTED, at=at, template=text)
