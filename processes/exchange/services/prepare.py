"""API_3: the ERP has processed the messages and is ready to commit; its replies are on the disk before it hears OK."""

import hashlib
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Literal

import msgspec
from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils.translation import gettext, gettext_noop

from config.common.database.sql import bulk_execute, in_array
from config.common.errors import ApplicationError, Invalid, TooLarge, VolumeAway
from config.common.ids import new_id
from config.records.models import LogEntry
from messaging.files.drafts import drop_drafts, name_drafts, write_drafts
from messaging.files.envelope import fingerprint, size_of
from messaging.models import Device, ExchangeDatabase, Message
from messaging.protocol import Body, Error, Id, check_payload, megabytes
from messaging.services.values import read_created_at
from processes.exchange.errors import DifferentRepeat
from processes.exchange.models import ExchangeProcess, ProcessMessage
from processes.exchange.services.processes import judge_call, lock_process, write_process_log
from processes.exchange.services.settlement import abort_process, requests_of
from processes.exchange.transitions import Call, Verdict

Result = ProcessMessage.Result
MOST_REPLIES = 1000
"""Each is a file of its own that must be on the disk before the answer."""
READY = gettext_noop(
    "Ready to commit: %(processed)s processed, %(deadlock)s deadlocked, %(incorrect)s incorrect; replies: %(replies)s"
)
Code = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class ResultOf(msgspec.Struct, forbid_unknown_fields=True):
    message: Id
    status: Literal["PROCESSED", "PROCESSED_DEADLOCK", "PROCESSED_INCORRECT"]
    error_text: Error | None = None
    error_code: Code | None = None


class Reply(msgspec.Struct, forbid_unknown_fields=True):
    to: Id
    payload: msgspec.Raw
    reply_to: Id | None = None
    created_at: str | None = None
    id: Id | None = None


class Prepare(Body):
    results: list[ResultOf]
    replies: Annotated[list[Reply], msgspec.Meta(max_length=MOST_REPLIES)] = []


@dataclass(frozen=True)
class _Prepared:
    """What one transaction is to write."""

    digest: bytes
    results: Sequence[ResultOf]
    replies: Sequence[tuple[Message, bytes]]


def prepare_process(
    *, database: ExchangeDatabase, process_id: uuid.UUID, body: Prepare, text: bytes, at: datetime
) -> bool:
    """Store results and replies; return whether the ERP may commit."""
    digest = hashlib.sha256(text).digest()
    with transaction.atomic():
        process = lock_process(process_id, database=database)
        verdict = _judge(process, digest)
        if verdict != Verdict.DO:
            return verdict == Verdict.REPEAT
        _check_results(process, body.results)
        # Under the lock: these replies must not have been written meanwhile by the same call, sent twice.
        _check_ids(database.enterprise_id, body.replies)
    prepared = _Prepared(digest, body.results, _build_replies(process, body.replies, at=at))
    try:
        write_drafts(prepared.replies)
    except VolumeAway:
        raise  # the ERP repeats the call, and finds its process as it was
    except (OSError, ApplicationError) as error:
        _give_up(process, error, at=at)
        return False
    return _write(process, prepared, at=at)


def _judge(process: ExchangeProcess, digest: bytes) -> Verdict:
    """Return the verdict of the table; raise `DifferentRepeat` if a repeated call has another body."""
    verdict = judge_call(Call.PREPARE, process)
    if verdict == Verdict.REPEAT and bytes(process.prepared or b"") != digest:
        raise DifferentRepeat
    return verdict


def _check_results(process: ExchangeProcess, results: Sequence[ResultOf]) -> None:
    """Refuse results that do not name every message of the process exactly once."""
    expected = set(requests_of(process).values_list("public_id", flat=True))
    named = Counter(result.message for result in results)
    wrong = sorted(expected ^ named.keys()) + sorted(name for name, times in named.items() if times > 1)
    if wrong:
        rule = gettext("Must name every message of the process exactly once; wrong: %(ids)s.")
        raise Invalid({"results": [rule % {"ids": ", ".join(wrong)}]})
    for index, result in enumerate(results):
        if result.status == "PROCESSED_INCORRECT" and not (result.error_text or "").strip():
            raise Invalid({f"results[{index}].error_text": [gettext("Required with PROCESSED_INCORRECT.")]})


def _build_replies(process: ExchangeProcess, replies: Sequence[Reply], *, at: datetime) -> list[tuple[Message, bytes]]:
    enterprise_id = process.database.enterprise_id
    addressed = Device.objects.filter(
        pk__in=in_array({reply.to for reply in replies}), subsystem__enterprise=enterprise_id
    )
    devices = {device.pk: device for device in addressed}
    chains = dict(requests_of(process).values_list("public_id", "correlation_id"))
    rows = []
    for index, reply in enumerate(replies):
        if reply.to not in devices:
            raise Invalid({f"replies[{index}].to": [gettext("Must be a device of your enterprise.")]})
        row = _build_reply(process, reply, devices[reply.to], at=at, field=f"replies[{index}].created_at")
        row.correlation_id = chains.get(reply.reply_to or "", process.correlation_id)
        row.size = size_of(row, bytes(reply.payload))
        if row.size > megabytes(settings.MESSAGE_MAX_MB):
            raise TooLarge(megabytes(settings.MESSAGE_MAX_MB))
        check_payload(bytes(reply.payload))
        rows.append((row, bytes(reply.payload)))
    return rows


def _check_ids(enterprise_id: str, replies: Sequence[Reply]) -> None:
    ids = Counter(reply.id for reply in replies if reply.id is not None)
    taken = {name for name, times in ids.items() if times > 1}
    taken |= set(
        Message.objects.filter(enterprise=enterprise_id, public_id__in=in_array(ids)).values_list(
            "public_id", flat=True
        )
    )
    if taken:
        raise _ids_taken(taken)


def _ids_taken(ids: set[str]) -> Invalid:
    rule = gettext("Ids already in use: %(ids)s.") % {"ids": ", ".join(sorted(ids))}
    return Invalid({"replies": [rule]})


def _build_reply(process: ExchangeProcess, reply: Reply, device: Device, *, at: datetime, field: str) -> Message:
    return Message(
        enterprise_id=process.database.enterprise_id,
        public_id=reply.id or str(new_id()),
        direction=Message.Direction.REPLY,
        database_id=process.database_id,
        device_id=device.pk,
        subsystem_id=device.subsystem_id,
        created_at=read_created_at(reply.created_at, at=at, field=field),
        accepted_at=at,
        reply_to=reply.reply_to or "",
        digest=fingerprint(device.pk, [bytes(reply.payload)]),
        folder=Message.Folder.PREPARED,
        status=Message.Status.IN_PROCESS,
        process=process.pk,
        written_by=process.pk,
    )


def _give_up(process: ExchangeProcess, error: Exception, *, at: datetime) -> None:
    """End a process whose replies cannot be written: the ERP rolls back, and the messages are offered again."""
    with transaction.atomic():
        locked = lock_process(process.pk)
        if judge_call(Call.PREPARE, locked) == Verdict.DO:
            text = gettext_noop("The replies could not be written: %(text)s")
            abort_process(locked, ExchangeProcess.Status.ROLLED_BACK, at=at, template=text, text=str(error))


def _write(process: ExchangeProcess, prepared: _Prepared, *, at: datetime) -> bool:
    """Write the rows that belong to the drafts on the disk; return whether the ERP may commit."""
    rows = [row for row, _ in prepared.replies]
    try:
        with transaction.atomic():
            locked = lock_process(process.pk)
            verdict = _judge(locked, prepared.digest)
            if verdict == Verdict.DO:
                _check_results(locked, prepared.results)  # API_2 may have come in between
                _insert(locked, prepared, rows, at=at)
    except (DifferentRepeat, Invalid, IntegrityError) as error:
        drop_drafts(rows)
        if isinstance(error, IntegrityError):
            raise _ids_taken({row.public_id for row in rows}) from error
        raise
    if verdict != Verdict.DO:
        drop_drafts(rows)
        return verdict == Verdict.REPEAT
    name_drafts(rows)
    return True


def _insert(process: ExchangeProcess, prepared: _Prepared, rows: Sequence[Message], *, at: datetime) -> None:
    Message.objects.bulk_create(rows)
    _record_results(process, prepared.results, at=at)
    process.status, process.ready_at, process.prepared = ExchangeProcess.Status.READY_TO_COMMIT, at, prepared.digest
    process.replies = [row.public_id for row in rows]
    process.fence += 1
    process.due_at = Now() + timedelta(seconds=settings.EXCHANGE_READY_TIMEOUT)
    process.save(update_fields=["status", "ready_at", "prepared", "replies", "fence", "due_at"])
    counts = Counter(result.status for result in prepared.results)
    write_process_log(
        process,
        READY,
        processed=counts["PROCESSED"],
        deadlock=counts["PROCESSED_DEADLOCK"],
        incorrect=counts["PROCESSED_INCORRECT"],
        replies=len(rows),
    )


def _record_results(process: ExchangeProcess, results: Sequence[ResultOf], *, at: datetime) -> None:
    entries = dict(process.entries.values_list("message__public_id", "pk"))
    rows = [(each.status, each.error_text or "", each.error_code, at, entries[each.message]) for each in results]
    bulk_execute("processes.exchange", "record_results", rows)
    for result in results:
        if result.status != "PROCESSED":
            _log_error(process, result)


def _log_error(process: ExchangeProcess, result: ResultOf) -> None:
    write_process_log(
        process,
        gettext_noop("Message %(message)s: %(result)s %(code)s %(error)s"),
        level=LogEntry.Level.WARNING,
        message=result.message,
        result=result.status,
        code="" if result.error_code is None else result.error_code,
        error=result.error_text or "",
    )
