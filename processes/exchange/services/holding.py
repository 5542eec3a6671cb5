"""Find the process that a call is about and hold it for the rest of the transaction."""

import uuid

from messaging.models import ExchangeDatabase
from processes.exchange.errors import ProcessNotFound
from processes.exchange.models import ExchangeProcess
from processes.exchange.transitions import Call, Verdict, judge


def hold_process(process_id: uuid.UUID, *, database: ExchangeDatabase | None = None) -> ExchangeProcess:
    """Lock the process; another database's is as good as none."""
    held = ExchangeProcess.objects.select_for_update(no_key=True).filter(pk=process_id)
    process = (held if database is None else held.filter(database=database)).first()
    if process is None:
        raise ProcessNotFound
    return process


def judge_call(call: Call, process: ExchangeProcess) -> Verdict:
    was_ready = process.ready_at is not None
    return judge(call, status=process.status, decision=process.decision, was_ready=was_ready)
