"""Steps of a trace: the exchange processes that a call began, and those that carried its messages."""

from collections.abc import Iterator
from datetime import datetime
from itertools import chain

from django.urls import reverse
from django.utils.translation import gettext, pgettext

from config.audit.trace import TraceStep
from processes.exchange.models import ExchangeProcess, ProcessMessage


def trace_processes(correlation_id: str, most: int) -> Iterator[TraceStep]:
    own = ExchangeProcess.objects.filter(correlation_id=correlation_id)
    carriers = ProcessMessage.objects.filter(message__correlation_id=correlation_id).values("process")
    carried = ExchangeProcess.objects.filter(pk__in=carriers)
    found = chain(*(rows.order_by("started_at", "pk")[:most] for rows in (own, carried)))
    once = {process.pk: process for process in found}
    oldest = sorted(once.values(), key=lambda process: (process.started_at, process.pk))
    return chain.from_iterable(_life(process) for process in oldest[:most])


def _life(process: ExchangeProcess) -> Iterator[TraceStep]:
    yield _step(process, process.started_at, pgettext("exchange", "started"))
    if process.ready_at is not None:
        yield _step(process, process.ready_at, gettext("ready to commit"))
    if process.ended_at is not None:
        yield _step(process, process.ended_at, pgettext("exchange", "ended"), outcome=process.status)


def _step(process: ExchangeProcess, at: datetime, words: str, *, outcome: str | None = None) -> TraceStep:
    data = {"database": process.database_id, "lane": process.lane, "replies": process.replies}
    page = reverse("admin:exchange_exchangeprocess_change", args=[process.pk])
    return TraceStep(at, "process", str(process.pk), f"{process.database_id}: {words}", outcome, data, page)
