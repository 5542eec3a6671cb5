"""API_1: begin a process. One transaction under the database's lock, so that no message gets into two processes."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated
from uuid import UUID

import msgspec
from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext, gettext_noop

from config.common.correlation import correlation_id
from config.common.database.sql import in_array
from config.common.errors import Invalid
from messaging.models import Device, ExchangeDatabase, Message, Subsystem
from messaging.protocol import Body, Id, megabytes
from messaging.services.readability import filter_readable
from messaging.services.values import Limits
from processes.exchange.models import ExchangeProcess, ProcessMessage
from processes.exchange.services.picking import pick_messages
from processes.exchange.services.settling import commit, give_up
from processes.exchange.services.telling import log, tell, tell_contradiction
from processes.exchange.transitions import LIVE, Call, Verdict, judge, overlap

AtLeastOne = Annotated[int, msgspec.Meta(ge=1)]
BATCH = 1000
Megabytes = Annotated[float, msgspec.Meta(ge=1)]


RequestId = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9._-]{1,64}\Z")]


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
    """Nothing waits."""


def start_process(*, database: ExchangeDatabase, wanted: Start, at: datetime) -> Started | Busy | Idle:
    """Settle what the ERP proves to have committed, then begin a process if the lane is free and something waits."""
    lane, senders = sorted(set(wanted.subsystems or ())), sorted(set(wanted.senders or ()))
    _check_parties(database, lane, senders)
    with transaction.atomic():
        ExchangeDatabase.objects.select_for_update(no_key=True).get(pk=database.pk)
        _settle(database, wanted.committed or (), at=at)
        repeated = _find_repeated(database, wanted.request_id, at=at)
        if repeated is not None:
            return repeated
        blocking = _blocking(database, lane)
        if blocking is not None:
            return Busy(blocking)
        chosen = pick_messages(database, lane=lane, senders=senders, limits=_limits(wanted))
        if not chosen:
            return Idle()
        return Started(_begin(database, lane, chosen, request_id=wanted.request_id or "", at=at), chosen)


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


def _limits(wanted: Start) -> Limits:
    """Take the smaller of the server's limits and the ERP's."""
    files = min(settings.EXCHANGE_MAX_FILES, wanted.max_files or settings.EXCHANGE_MAX_FILES)
    size = min(settings.EXCHANGE_MAX_MB, wanted.max_mb or settings.EXCHANGE_MAX_MB)
    return Limits(files, megabytes(size))


def _settle(database: ExchangeDatabase, committed: Collection[str], *, at: datetime) -> None:
    """Finish the processes whose ids the ERP found in its own database; ids that say nothing to us are passed over."""
    keys = sorted({key for text in committed if (key := _uuid(text)) is not None})
    for process in _held(database, keys):
        was_ready = process.ready_at is not None
        call = Call.RESOLVE_COMMITTED
        verdict = judge(call, status=process.status, decision=process.decision, was_ready=was_ready)
        if verdict == Verdict.DO:
            commit(process, at=at, how="committed")
        elif verdict == Verdict.CONTRADICT:
            tell_contradiction(process, call="committed")


def _held(database: ExchangeDatabase, keys: list[UUID]) -> Iterator[ExchangeProcess]:
    """Lock processes in the order of their ids; an ERP may never forget one, and SQLite takes so many parameters."""
    held = ExchangeProcess.objects.select_for_update(no_key=True).filter(database=database)
    for start in range(0, len(keys), BATCH):
        yield from held.filter(pk__in=keys[start : start + BATCH]).order_by("pk")


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _find_repeated(database: ExchangeDatabase, request_id: str | None, *, at: datetime) -> Started | None:
    """Find the process that this very call has begun before, and whose answer was lost: it is answered once more.

    The fence goes up, so that an answer before this one that turns out to be cut does not end the process.
    """
    if not request_id:
        return None
    held = ExchangeProcess.objects.select_for_update(no_key=True)
    process = held.filter(database=database, status=ExchangeProcess.Status.STARTED, request_id=request_id).first()
    if process is None:
        return None
    entries = process.entries.filter(message__process=process.pk).select_related("message").order_by("place")
    messages = filter_readable([entry.message for entry in entries])
    if not messages:
        text = gettext_noop("Interrupted: none of its files can be read any more")
        give_up(process, ExchangeProcess.Status.INTERRUPTED, at=at, template=text)
        return None
    process.fence += 1
    process.save(update_fields=["fence"])
    log(process, gettext_noop("The ERP asks for the answer again (%(request)s)"), request=request_id)
    return Started(process, messages)


def _blocking(database: ExchangeDatabase, lane: list[str]) -> UUID | None:
    live = ExchangeProcess.objects.filter(database=database, status__in=LIVE).order_by("started_at", "pk")
    return next((pk for pk, other in live.values_list("pk", "lane") if overlap(lane, other)), None)


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
    log(process, gettext_noop("Started with %(messages)s messages, %(bytes)s bytes"), messages=len(chosen), bytes=size)
    tell(process, "started", at=at, messages=[message.public_id for message in chosen])
    return process
