"""API_2: the ERP says which of the messages it will process; the others are free at once."""

from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext, gettext_noop

from config.common.errors import Invalid
from messaging.models import ExchangeDatabase
from messaging.protocol import Body, Id
from processes.exchange.models import ExchangeProcess
from processes.exchange.services.freeing import give_back_after_setback, requests_of
from processes.exchange.services.holding import hold_process, judge_call
from processes.exchange.services.settling import give_up
from processes.exchange.services.telling import log
from processes.exchange.transitions import Call, Verdict


class Accept(Body):
    messages: list[Id]


def accept_messages(*, database: ExchangeDatabase, process_id: UUID, wanted: Accept, at: datetime) -> bool:
    """Narrow the process to these messages; return whether it was still possible."""
    with transaction.atomic():
        process = hold_process(process_id, database=database)
        if judge_call(Call.ACCEPT, process) != Verdict.DO:
            return False
        _narrow(process, set(wanted.messages), at=at)
        return True


def _narrow(process: ExchangeProcess, wanted: set[str], *, at: datetime) -> None:
    held = dict(requests_of(process).values_list("public_id", "pk"))
    unknown = sorted(wanted - held.keys())
    if unknown:
        rule = gettext("Not in this process: %(ids)s.") % {"ids": ", ".join(unknown)}
        raise Invalid({"messages": [rule]})
    left_out = [pk for public_id, pk in held.items() if public_id not in wanted]
    if left_out:
        process.entries.filter(message__in=left_out).update(is_left_out=True)
        give_back_after_setback(requests_of(process).filter(pk__in=left_out))
        log(process, gettext_noop("The ERP leaves out %(count)s messages"), count=len(left_out))
    if not wanted:
        text = gettext_noop("Interrupted: the ERP took none of the messages")
        give_up(process, ExchangeProcess.Status.INTERRUPTED, at=at, template=text)
