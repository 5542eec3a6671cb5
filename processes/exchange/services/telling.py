"""What a process tells: its log, its events, its alerts; each in the transaction that makes it true."""

from datetime import datetime
from typing import Any

from django.utils.translation import gettext_noop

from config.audit.log import write_log_entry
from config.records.models import LogEntry
from notifications.services.alerts import close_alert, raise_alert
from notifications.services.events import NewEvent, record_event
from processes.exchange.models import ExchangeProcess

PREFIX = "process/"
IN_DOUBT = "exchange.in_doubt"
FAILED = "exchange.failed"
CONTRADICTION = "exchange.contradiction"


def subject_of(process: ExchangeProcess) -> str:
    return f"{PREFIX}{process.pk}"


def log(process: ExchangeProcess, template: str, *, level: str = LogEntry.Level.INFO, **data: Any) -> None:
    """Write a line of the process's log; `template` may name `%(database)s` and what `data` holds."""
    values = {"database": process.database_id, **data}
    write_log_entry(level=level, kind="exchange", subject=subject_of(process), template=template, data=values)


def tell(process: ExchangeProcess, verb: str, *, at: datetime, **payload: Any) -> None:
    """Write the event `exchange.<verb>`."""
    facts = {"process": str(process.pk), "database": process.database_id, "status": process.status, **payload}
    record_event(NewEvent(f"exchange.{verb}", subject_of(process), at, facts))


def alert(kind: str, process: ExchangeProcess, title: str, **detail: Any) -> None:
    raise_alert(
        kind, subject_of(process), title, {"process": str(process.pk), "database": process.database_id, **detail}
    )


def heal_alerts(process: ExchangeProcess) -> None:
    """Close what was raised about this process: it has been settled."""
    for kind in (IN_DOUBT, FAILED):
        close_alert(kind, subject_of(process), gettext_noop("the process is settled"))


def tell_contradiction(process: ExchangeProcess, *, call: str) -> None:
    """Tell staff that the ERP says the opposite of what was done with its process."""
    title = gettext_noop(
        "The ERP %(database)s contradicts what was done with process %(process)s: %(call)s in %(status)s"
    )
    alert(CONTRADICTION, process, title, call=call, status=process.status)
    log(process, gettext_noop("%(call)s contradicts what was done before"), level=LogEntry.Level.ERROR, call=call)
