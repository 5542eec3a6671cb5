"""API_1: begin a process. One transaction under the database's lock, so that no message gets into two processes."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Annotated
from uuid import UUID

import msgspec
from django.conf import settings
from django.db import connection, transaction
from django.db.models.functions import Now
from django.utils.translation import gettext, gettext_noop

from config.common.correlation import correlation_id
from config.common.database.sql import in_array, load_engine_sql
from config.common.errors import Invalid
from messaging.models import Device, ExchangeDatabase, LastRequest, Message, Subsystem
from messaging.protocol import Body, Id, megabytes
from messaging.services.fetch import take_within_limits
from messaging.services.readability import filter_readable
from messaging.services.values import Limits
from processes.exchange.models import ExchangeProcess, ProcessMessage
from processes.exchange.services.processes import (
    judge_call,
    record_process_event,
    report_contradiction,
    write_process_log,
)
from processes.exchange.services.settlement import abort_process, settle_committed
from processes.exchange.transitions import LIVE, Call, Verdict, overlap

AtLeastOne = Annotated[int, msgspec.Meta(ge=1)]
Megabytes = Annotated[float, msgspec.Meta(ge=1)]
RequestId = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9._-]{1,64}\Z")]
BATCH = 1000
RECORDED_EVERY = timedelta(seconds=5)
"""So exact is what is kept of the last request of a database."""


class Start(Body):
    request_id: RequestId | None = None
    subsystems: list[Id] | None = None
    senders: list[Id] | None = None
    max_files: AtLeastOne | None = None
    max_mb: Megabytes | None = None
    committed: list[str] | None = None


@dataclass(frozen=True)
class Started:
    process: ExchangeProcess
    messages: list[Message]


@dataclass(frozen=True)
class Busy:
    process_id: UUID


class Idle:
    """No message waits in the lane."""


def start_process(*, database: ExchangeDatabase, body: Start, at: datetime) -> Started | Busy | Idle:
    """Settle the processes that the ERP has found committed, then begin one if the lane is free and a message waits."""
    lane, senders = sorted(set(body.subsystems or ())), sorted(set(body.senders or ()))
    _check_parties(database, lane, senders)
    with transaction.atomic():
        ExchangeDatabase.objects.select_for_update(no_key=True).get(pk=database.pk)
        _settle_found_committed(database, body.committed or (), at=at)
        outcome = _start(database, lane, senders, body, at=at)
        _record_request(database, lane, outcome, at=at)
        return outcome


def _start(
    database: ExchangeDatabase, lane: list[str], senders: list[str], body: Start, *, at: datetime
) -> Started | Busy | Idle:
    repeated = _find_repeated(database, body.request_id, at=at)
    if repeated is not None:
        return repeated
    live = ExchangeProcess.objects.filter(database=database, status__in=LIVE).order_by("started_at", "pk")
    for process_id, other_lane in live.values_list("pk", "lane"):
        if overlap(lane, other_lane):
            return Busy(process_id)
    # The smaller of the server's limits and the ERP's.
    files = min(settings.EXCHANGE_MAX_FILES, body.max_files or settings.EXCHANGE_MAX_FILES)
    size = min(settings.EXCHANGE_MAX_MB, body.max_mb or settings.EXCHANGE_MAX_MB)
    chosen = _pick_messages(database, lane=lane, senders=senders, limits=Limits(files, megabytes(size)))
    if not chosen:
        return Idle()
    return Started(_begin(database, lane, chosen, request_id=body.request_id or "", at=at), chosen)


def _record_request(
    database: ExchangeDatabase, lane: list[str], outcome: Started | Busy | Idle, *, at: datetime
) -> None:
    """Keep that the ERP has asked: an ERP that asks all the time writes it once in some seconds."""
    # One that is ahead of this clock is no newer one: another node's clock is.
    newer = LastRequest.objects.filter(database=database, asked_at__gt=at - RECORDED_EVERY, asked_at__lte=at)
    if newer.exists():
        return
    answer = _ANSWERS[type(outcome)]
    LastRequest.objects.update_or_create(database=database, defaults={"asked_at": at, "lane": lane, "answer": answer})


_ANSWERS = {Started: LastRequest.Answer.OK, Busy: LastRequest.Answer.BUSY, Idle: LastRequest.Answer.IDLE}


def _check_parties(database: ExchangeDatabase, lane: Collection[str], senders: Collection[str]) -> None:
    enterprise = database.enterprise_id
    faults = {}
    if lane and Subsystem.objects.filter(enterprise=enterprise, pk__in=in_array(lane)).count() != len(lane):
        faults["subsystems"] = [gettext("Must be subsystems of your enterprise.")]
    if senders and Device.objects.filter(subsystem__enterprise=enterprise, pk__in=in_array(senders)).count() != len(
        senders
    ):
        faults["senders"] = [gettext("Must be devices of your enterprise.")]
    if faults:
        raise Invalid(faults)


def _settle_found_committed(database: ExchangeDatabase, committed: Collection[str], *, at: datetime) -> None:
    """Finish the processes whose ids the ERP found in its own database; ids that are none of ours are passed over."""
    keys = sorted({key for text in committed if (key := _parse_uuid(text)) is not None})
    rows = ExchangeProcess.objects.select_for_update(no_key=True).filter(database=database)
    for start in range(0, len(keys), BATCH):  # an ERP may never forget an id, and SQLite limits the parameters
        for process in rows.filter(pk__in=keys[start : start + BATCH]).order_by("pk"):
            verdict = judge_call(Call.RESOLVE_COMMITTED, process)
            if verdict == Verdict.DO:
                settle_committed(process, at=at, how="committed")
            elif verdict == Verdict.CONTRADICT:
                report_contradiction(process, call="committed")


def _parse_uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _find_repeated(database: ExchangeDatabase, request_id: str | None, *, at: datetime) -> Started | None:
    """Return the process that a call with this id has begun before, if it is still STARTED: its answer was lost."""
    if not request_id:
        return None
    rows = ExchangeProcess.objects.select_for_update(no_key=True)
    process = rows.filter(database=database, status=ExchangeProcess.Status.STARTED, request_id=request_id).first()
    if process is None:
        return None
    entries = process.entries.filter(message__process=process.pk).select_related("message").order_by("place")
    messages = filter_readable([entry.message for entry in entries])
    if not messages:
        text = gettext_noop("Interrupted: none of its files can be read any more")
        abort_process(process, ExchangeProcess.Status.INTERRUPTED, at=at, template=text)
        return None
    process.fence += 1  # an earlier answer that turns out to be cut must not end the process now
    process.save(update_fields=["fence"])
    text = gettext_noop("The ERP requests the response again (%(request)s)")
    write_process_log(process, text, request=request_id)
    return Started(process, messages)


def _pick_messages(
    database: ExchangeDatabase, *, lane: Sequence[str], senders: Sequence[str], limits: Limits
) -> list[Message]:
    """Return the longest run of the oldest messages that fits both limits, at any length of the queue.

    A message that cannot be read goes to Error, and another takes its place.
    """
    subsystems = list(lane) or list(
        Subsystem.objects.filter(enterprise=database.enterprise_id).values_list("pk", flat=True)
    )
    while True:
        oldest = _select_oldest(database, subsystems, senders, limits.files)
        chosen = take_within_limits(_isolate_suspects(oldest), limits)
        if len(filter_readable(chosen)) == len(chosen):
            return chosen


def _isolate_suspects(messages: list[Message]) -> list[Message]:
    """Offer messages with which the ERP falls silent by themselves: nothing else shall fail with one of them.

    Each time it happens again the list is half as long, so the innocent ones are soon through.
    """
    isolation = messages[0].isolation if messages else 0
    alike = list(takewhile(lambda message: message.isolation == isolation, messages))
    return alike[: max(1, len(messages) >> isolation)]


def _select_oldest(
    database: ExchangeDatabase, subsystems: Sequence[str], senders: Sequence[str], most: int
) -> list[Message]:
    by = "senders" if senders else "subsystems"
    values = {"database": database.pk, "keys": list(senders or subsystems), "lane": list(subsystems), "most": most}
    if connection.vendor != "postgresql":  # SQLite has no arrays: it reads JSON
        values |= {name: msgspec.json.encode(values[name]).decode() for name in ("keys", "lane")}
    return list(Message.objects.raw(load_engine_sql("processes.exchange", f"pick_of_{by}"), values))


def _begin(
    database: ExchangeDatabase, lane: list[str], chosen: list[Message], *, request_id: str, at: datetime
) -> ExchangeProcess:
    process = ExchangeProcess.objects.create(
        database=database,
        lane=lane,
        request_id=request_id,
        started_at=at,
        due_at=Now() + timedelta(seconds=settings.EXCHANGE_STARTED_TIMEOUT),
        correlation_id=correlation_id(),
    )
    ProcessMessage.objects.bulk_create(
        ProcessMessage(process=process, message=message, place=place) for place, message in enumerate(chosen)
    )
    waiting = Message.objects.filter(pk__in=[message.pk for message in chosen], status=Message.Status.WAITING)
    taken = waiting.update(status=Message.Status.IN_PROCESS, process=process.pk, updated_at=Now())
    if taken != len(chosen):
        raise RuntimeError("a message left the queue while its database was locked")
    size = sum(message.size for message in chosen)
    text = gettext_noop("Started. Messages: %(messages)s, bytes: %(bytes)s")
    write_process_log(process, text, messages=len(chosen), bytes=size)
    record_process_event(process, "started", at=at, messages=[message.public_id for message in chosen])
    return process
