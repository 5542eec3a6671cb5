"""Lock a process, judge a call by its status, and write its log, events and alerts.

Whatever is written here stands in the transaction that makes it true.
"""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils.translation import gettext_noop

from config.audit.log import write_log_entry
from config.common.correlation import correlated, correlation_id
from config.records.models import LogEntry
from messaging.models import ExchangeDatabase
from notifications.services.alerts import close_alert, raise_alert
from notifications.services.events import NewEvent, record_event
from processes.exchange.errors import ProcessNotFound
from processes.exchange.models import ExchangeProcess
from processes.exchange.subjects import subject_of
from processes.exchange.transitions import Call, Verdict, judge

IN_DOUBT = "exchange.in_doubt"
FAILED = "exchange.failed"
CONTRADICTION = "exchange.contradiction"


def lock_process(process_id: UUID, *, database: ExchangeDatabase | None = None) -> ExchangeProcess:
    """Lock a process for the rest of the transaction; that of another database is not found."""
    # FOR UPDATE would also block inserts of rows that refer to the process.
    rows = ExchangeProcess.objects.select_for_update(no_key=True).filter(pk=process_id)
    process = (rows if database is None else rows.filter(database=database)).first()
    if process is None:
        raise ProcessNotFound
    return process


def judge_call(call: Call, process: ExchangeProcess) -> Verdict:
    """Return what a call means to a locked process, by the table of transitions."""
    was_ready = process.ready_at is not None
    return judge(call, status=process.status, decision=process.decision, was_ready=was_ready)


def write_process_log(
    process: ExchangeProcess, template: str, *, level: str = LogEntry.Level.INFO, **data: Any
) -> None:
    """Write a line of the process's log; `template` may name `%(database)s` and the keys of `data`."""
    values = {"database": process.database_id, **data}
    write_log_entry(level=level, kind="exchange", subject=subject_of(process), template=template, data=values)


def record_process_event(process: ExchangeProcess, verb: str, *, at: datetime, **payload: Any) -> None:
    """Record the event `exchange.<verb>`."""
    values = {"process": str(process.pk), "database": process.database_id, "status": process.status, **payload}
    # Of the process's own chain: a time-out or a later call of the ERP would hide it from who traces the process.
    record_event(NewEvent(f"exchange.{verb}", subject_of(process), at, values, process.correlation_id))


def raise_process_alert(kind: str, process: ExchangeProcess, title: str, **detail: Any) -> None:
    """Raise an alert about a process; `title` may name `%(process)s`, `%(database)s` and the keys of `detail`."""
    values = {"process": str(process.pk), "database": process.database.name, **detail}
    with correlated(process.correlation_id or correlation_id()):
        raise_alert(kind, subject_of(process), title, values)


def close_process_alerts(process: ExchangeProcess) -> None:
    """Close the alerts that ask an operator to decide about a process: it is settled."""
    for kind in (IN_DOUBT, FAILED):
        close_alert(kind, subject_of(process), gettext_noop("the process has been settled"))


def report_contradiction(process: ExchangeProcess, *, call: str) -> None:
    """Alert staff that the ERP says the opposite of what was done with its process."""
    title = gettext_noop(
        "ERP “%(database)s” contradicts what was done with process %(process)s: %(call)s in %(status)s"
    )
    raise_process_alert(CONTRADICTION, process, title, call=call, status=process.status)
    text = gettext_noop("%(call)s contradicts an earlier decision")
    write_process_log(process, text, level=LogEntry.Level.ERROR, call=call)
