"""Processes in the database, in any status, without the calls that lead there."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from django.utils import timezone

from config.common.database.row_lists import read_lists
from config.dashboard.live.processes import ProcessRow, ask_processes, read_processes
from messaging.models import Device, Enterprise, ExchangeDatabase, Message, Subsystem
from processes.exchange.models import ExchangeProcess, ProcessMessage
from tests.config.dashboard.live.conftest import AT

Status = ExchangeProcess.Status
NEVER_READY = (Status.STARTED, Status.TIMED_OUT, Status.INTERRUPTED)
COMMITTED = (Status.CLEANUP, Status.FAILED, Status.DONE)
NOT_ENDED = (Status.STARTED, Status.READY_TO_COMMIT, Status.CLEANUP, Status.FAILED)


def make_process(status: str = Status.STARTED, *, minute: int = 0, name: str = "acme") -> ExchangeProcess:
    return ExchangeProcess.objects.create(
        database=_database(name), started_at=AT + timedelta(minutes=minute), **_columns(status)
    )


def move(process: ExchangeProcess, status: str) -> None:
    ExchangeProcess.objects.filter(pk=process.pk).update(**_columns(status))


def shown_processes(known: Mapping[UUID, ProcessRow] | None = None) -> dict[UUID, ProcessRow]:
    """Return the processes that the page shows, to whoever knows these."""
    return read_processes(known or {}, read_lists(ask_processes()))


def add_messages(process: ExchangeProcess, count: int, /, **columns: Any) -> list[Message]:
    """Give a process messages that it holds."""
    database, at = process.database, timezone.now()
    enterprise = database.enterprise
    subsystem, _ = Subsystem.objects.get_or_create(id=f"{enterprise.pk}-sales", enterprise=enterprise, name="Sales")
    device, _ = Device.objects.get_or_create(id=f"{enterprise.pk}-phone", subsystem=subsystem, name="Phone")
    usual = {"folder": "Log", "status": "processed", "direction": "request", "process": process.pk}
    made = [
        Message.objects.create(
            enterprise=enterprise,
            public_id=str(uuid4()),
            database=database,
            device=device,
            subsystem=subsystem,
            created_at=at,
            accepted_at=at,
            size=1,
            digest=b"",
            **{**usual, **columns},
        )
        for _ in range(count)
    ]
    for place, message in enumerate(made, start=process.entries.count()):
        ProcessMessage.objects.create(process=process, message=message, place=place)
    return made


def _columns(status: str) -> dict[str, Any]:
    ended: datetime | None = None if status in NOT_ENDED else AT
    ready = {} if status in NEVER_READY else {"ready_at": AT, "prepared": b"x"}
    decision = "committed" if status in COMMITTED else "not_committed" if status == Status.ROLLED_BACK else ""
    return {"status": status, "ended_at": ended, "due_at": AT, "decision": decision, **ready}


def _database(name: str) -> ExchangeDatabase:
    enterprise, _ = Enterprise.objects.get_or_create(id=name, name=name)
    database, _ = ExchangeDatabase.objects.get_or_create(
        id=f"{name}-erp", enterprise=enterprise, defaults={"name": "ERP"}
    )
    return database
