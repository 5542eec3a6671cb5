"""`Idempotency-Key`: a creating call that is repeated within a day has one effect and gets the first answer.

The record of the answer is written in the transaction of the effect, so there is never one without the other; an error
rolls both back and leaves nothing, and the call may be repeated.
"""

import hashlib
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import msgspec
from django.db import connection, transaction
from django.http import HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext
from rest_framework.request import Request
from rest_framework.response import Response

from config.access.authentication import owner_of
from config.common.database.sql import load_sql
from config.common.encryption import decrypt, encrypt
from config.common.errors import Conflict, Invalid
from config.common.web.json_codec import encode_json
from config.records.models import IdempotencyRecord

HEADER = "Idempotency-Key"
KEPT_FOR = timedelta(hours=24)
LONGEST_KEY = 64

_PATTERN = re.compile(rf"[A-Za-z0-9._-]{{1,{LONGEST_KEY}}}")


class IdempotencyConflict(Conflict):
    """This Idempotency-Key has already been used for another call. Use a new one."""


def answer_once(request: Request, handle: Callable[[], HttpResponseBase]) -> HttpResponseBase:
    """Run the handler in one transaction with the record of its answer, or return the answer it gave before."""
    key = request.headers.get(HEADER)
    if key is None:
        return handle()
    if not _PATTERN.fullmatch(key):
        raise Invalid({HEADER: [gettext("Must be 1 to 64 characters of A-Z, a-z, 0-9, dot, underscore and hyphen.")]})
    owner, digest = owner_of(request), _digest(request)
    with transaction.atomic():
        record = _claim(owner=owner, key=key, digest=digest)
        if record is None:
            return _first_answer(owner=owner, key=key, digest=digest)
        answer = handle()
        if answer.status_code >= 400:
            transaction.set_rollback(True)
            return answer
        return _store(record, answer)


def begin_once(request: Request, begin: Callable[[], int]) -> tuple[int, bool]:
    """Write the row of something that leaves this machine, once a key; return its id, and whether it is new.

    For a view that calls the network between two transactions: the row and the record of the key stand before the call,
    and a repeat is answered from what became of the row.
    """
    made: list[int] = []

    def handle() -> Response:
        made.append(begin())
        return Response(made[0])

    answer = answer_once(request, handle)
    if made:
        return made[0], True
    return int(msgspec.json.decode(answer.content)), False  # type: ignore[attr-defined]  # kept as JSON


def _claim(*, owner: str, key: str, digest: bytes) -> IdempotencyRecord | None:
    now = timezone.now()
    values = {"owner": owner, "key": key, "digest": digest, "at": _column(now), "forgotten": _column(now - KEPT_FOR)}
    return next(iter(IdempotencyRecord.objects.raw(load_sql("config.api", "claim_answer"), values)), None)


def _column(moment: datetime) -> Any:
    """Return a time as the column holds it: SQLite keeps text, without an offset."""
    return connection.ops.adapt_datetimefield_value(moment)


def _first_answer(*, owner: str, key: str, digest: bytes) -> HttpResponse:
    record = IdempotencyRecord.objects.get(owner=owner, key=key)
    if bytes(record.digest) != digest or record.status is None or record.answer is None:
        raise IdempotencyConflict
    return _response(record.status, decrypt(bytes(record.answer)))


def _store(record: IdempotencyRecord, answer: HttpResponseBase) -> HttpResponse:
    """Store the answer and return it from the same bytes, so that a repeat cannot differ."""
    if not isinstance(answer, Response):
        raise TypeError("A view whose answer is not plain JSON must say `idempotent = False`.")
    body = b"" if answer.data is None else encode_json(answer.data)
    kept = IdempotencyRecord.objects.filter(pk=record.pk)
    kept.update(status=answer.status_code, answer=encrypt(body))
    return _response(answer.status_code, body)


def _response(status: int, body: bytes) -> HttpResponse:
    response = HttpResponse(body, status=status, content_type="application/json")
    if not body:
        del response.headers["Content-Type"]
    return response


def _digest(request: Request) -> bytes:
    """Digest what was asked for, not its bytes: a repeat may order the fields or frame a file differently."""
    digest = hashlib.sha256(f"{request.method} {request.get_full_path()}\n".encode())
    values = list(request.POST.lists()) if isinstance(request.data, QueryDict) else request.data
    digest.update(msgspec.json.encode(values, order="sorted"))
    for name, file in sorted(request.FILES.items()):
        digest.update(msgspec.json.encode([name, file.name, file.size]))
        for chunk in file.chunks():
            digest.update(chunk)
        file.seek(0)
    return digest.digest()
