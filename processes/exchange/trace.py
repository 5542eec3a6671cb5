"""Steps of a trace: the exchange processes that a call began, and those that carried its messages."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from itertools import chain
from uuid import UUID

from django.urls import reverse
from django.utils.translation import gettext, pgettext

from config.audit.selectors import trace_log_entries
from config.audit.trace import Related, Standing, TraceStep, Upcoming
from config.common.database.sql import in_array
from config.records.models import LogEntry
from processes.exchange.models import ExchangeProcess, ProcessMessage
from processes.exchange.subjects import PREFIX

Status = ExchangeProcess.Status
STANDINGS = {Status.DONE: Standing.DONE, Status.FAILED: Standing.FAILED}
MESSAGES = 100
"""So many of the messages that processes carried are named."""
ENDED_UNDONE = (Status.TIMED_OUT, Status.INTERRUPTED, Status.ROLLED_BACK)
"""Their messages are offered again: nothing is still to come of the process itself."""


def trace_processes(correlation_id: str, most: int) -> Iterator[TraceStep]:
    """Return their lives and their logs: the ERP's later calls and what staff decided have ids of their own."""
    found = _find_processes(correlation_id, most)
    if not found:
        return
    rows = ExchangeProcess.objects.filter(pk__in=found).select_related("database").order_by("started_at", "pk")
    carried = _find_carried(found)
    yield from chain.from_iterable(_life(process, carried[process.pk]) for process in rows)
    entries = LogEntry.objects.filter(subject__in=in_array([f"{PREFIX}{pk}" for pk in found]))
    yield from trace_log_entries(entries, most)


def _find_processes(correlation_id: str, most: int) -> list[UUID]:
    """Return the ids of the oldest processes that a call began, carried messages of, or took a step of."""
    own = ExchangeProcess.objects.filter(correlation_id=correlation_id)
    carried = ExchangeProcess.objects.filter(entries__message__correlation_id=correlation_id)
    columns = ("started_at", "pk")
    oldest = own.order_by().values_list(*columns).union(carried.order_by().values_list(*columns))
    found = [pk for _, pk in oldest.order_by(*columns)[:most]]
    entries = LogEntry.objects.filter(correlation_id=correlation_id, kind=LogEntry.Kind.EXCHANGE)
    subjects = entries.order_by("pk").values_list("subject", flat=True)[:most]
    stepped = [pk for subject in subjects if (pk := _parse_subject(subject)) is not None]
    return list(dict.fromkeys([*found, *stepped]))[:most]


def _find_carried(processes: list[UUID]) -> dict[UUID, list[Related]]:
    """Return the chains of the messages that each process carried."""
    carried: dict[UUID, list[Related]] = defaultdict(list)
    entries = ProcessMessage.objects.filter(process__in=processes).order_by("process_id", "place")
    columns = entries.values_list("process_id", "message__public_id", "message__correlation_id")
    for pk, message, chain_of_message in columns[:MESSAGES]:
        carried[pk].append(Related(gettext("message %(id)s") % {"id": message}, chain_of_message))
    return carried


def _parse_subject(subject: str) -> UUID | None:
    try:
        return UUID(subject.removeprefix(PREFIX))
    except ValueError:
        return None


def _life(process: ExchangeProcess, carried: list[Related]) -> Iterator[TraceStep]:
    steps = [_step(process, process.started_at, pgettext("exchange", "started"))]
    if process.ready_at is not None:
        steps.append(_step(process, process.ready_at, gettext("ready to commit")))
    if process.ended_at is not None:
        steps.append(_step(process, process.ended_at, pgettext("exchange", "ended"), outcome=process.status))
    steps[-1] = _stand(process, steps[-1], carried)
    yield from (replace(step, continues=place > 0) for place, step in enumerate(steps))


def _step(process: ExchangeProcess, at: datetime, words: str, *, outcome: str | None = None) -> TraceStep:
    data = {"database": process.database_id, "lane": process.lane, "replies": process.replies}
    page = reverse("admin:exchange_exchangeprocess_change", args=[process.pk])
    return TraceStep(at, "process", str(process.pk), f"{process.database.name}: {words}", outcome, data, page)


def _stand(process: ExchangeProcess, last: TraceStep, carried: list[Related]) -> TraceStep:
    """Return the last step of a process with where it stands, and what is still to come of it."""
    status = Status(process.status)
    standing = Standing.DONE if status in ENDED_UNDONE else STANDINGS.get(status, Standing.OPEN)
    named = gettext("exchange process of %(database)s") % {"database": process.database.name}
    return replace(
        last,
        standing=standing,
        upcoming=_coming(process),
        related=(Related(named, process.correlation_id), *carried),
    )


def _coming(process: ExchangeProcess) -> tuple[Upcoming, ...]:
    match process.status:
        case Status.STARTED:
            return (Upcoming(gettext("times out unless the ERP prepares"), process.due_at),)
        case Status.READY_TO_COMMIT:
            return (Upcoming(gettext("in doubt unless the ERP decides"), process.due_at),)
        case Status.CLEANUP:
            return (Upcoming(gettext("files are being moved"), process.due_at),)
        case Status.FAILED | Status.IN_DOUBT:
            return (Upcoming(gettext("waiting for a decision")),)
        case _:
            return ()
