"""Refused calls in the log: counted in this process, written about once a second by one thread.

A caller that runs against a wall does so thousands of times a second, and none of it may cost a write: the same refusal
of the same caller within a minute is one entry, whose count rises. What a process had not written when it was killed is
lost; a write whose confirmation was lost is counted twice. Both are bearable for a log of refusals, and nothing else
rests on it. Neither keys nor bodies are kept: a caller is the public beginning of its key, or a name.
"""

import hashlib
import threading
import time
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime

import structlog
from django.db import connection
from django.http.response import HttpResponseBase
from django.urls import Resolver404, resolve
from django.utils import timezone
from django.utils.translation import gettext_noop
from rest_framework.request import Request

from config.access.authentication import actor_of
from config.audit.log import NewLogEntry, write_log_entries
from config.common.background.per_process import PerProcess
from config.common.background.supervision import SupervisedThread
from config.common.correlation import correlation_id
from config.common.key_text import find_prefix
from config.records.models import AccessKey, LogEntry

PAUSE_SECONDS = 1.0
SILENCE_SECONDS = 5.0
MOST_KINDS = 1000
"""How many different refusals wait to be written; what comes beyond them shares one entry a minute."""
API = "/api/"
ANONYMOUS = "anonymous"
# What strangers get wrong is theirs; what may be an attack or a key that has run out is for the operator.
NOTED_OF_STRANGERS = frozenset({401, 403, 408, 409, 413, 429})

REFUSED = gettext_noop("%(method)s %(route)s was refused: %(status)s %(code)s, caller %(caller)s")
MORE = gettext_noop("More kinds of calls were refused than are listed here")

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Refusal:
    """What refusals have in common that are counted together."""

    minute: datetime
    method: str
    route: str
    status: int
    code: str
    caller: str


@dataclass(frozen=True)
class _Noted:
    """How often a refusal has happened since the last write, and when first."""

    count: int
    at: datetime
    correlation_id: str


def record_refused_answer(request: Request, response: HttpResponseBase) -> None:
    """Count an answer of the API that refuses."""
    if not 400 <= response.status_code < 500:
        return
    caller = _caller(request, response.status_code)
    if caller == ANONYMOUS and response.status_code not in NOTED_OF_STRANGERS:
        return
    data = getattr(response, "data", None)
    code = str(data.get("code", "")) if isinstance(data, dict) else ""
    matched = request._request.resolver_match
    _count_refusal(request.method or "", f"/{matched.route}" if matched else "", response.status_code, code, caller)


def record_early_refusal(method: str, path: str, status: int, code: str) -> None:
    """Count what the outermost layer refused, before anyone knew who called: a body too large, or one that stalled."""
    if path.startswith(API) and status in NOTED_OF_STRANGERS:
        _count_refusal(method, _find_route(path), status, code, ANONYMOUS)


def flush_refusals() -> int:
    """Write now what has been counted; return how many entries that were."""
    return _refusals.get().flush()


def _caller(request: Request, status: int) -> str:
    # `request.user` would ask who calls, where the call was refused before anyone did.
    if getattr(request, "_user", None) is not None:
        return request.auth.prefix if isinstance(request.auth, AccessKey) else actor_of(request)
    if status != 403:
        return ANONYMOUS
    # The key is right, and what it belongs to is not active.
    return find_prefix(request.META.get("HTTP_AUTHORIZATION", "").partition(" ")[2].strip()) or ANONYMOUS


def _find_route(path: str) -> str:
    """Return the pattern of a path: the path itself may name anything, and be as long as anything."""
    try:
        return f"/{resolve(path).route}"
    except Resolver404:
        return API


def _count_refusal(method: str, route: str, status: int, code: str, caller: str) -> None:
    at = timezone.now()
    refusal = Refusal(at.replace(second=0, microsecond=0), method[:10], route, status, code[:60], caller)
    _refusals.get().add(refusal, _Noted(1, at, correlation_id()))


class _Refusals:
    """What has been counted, and the one thread that writes it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._noted: dict[Refusal, _Noted] = {}
        self._has_some = threading.Event()
        self._thread = SupervisedThread("refusals", self._run)

    def add(self, refusal: Refusal, noted: _Noted) -> None:
        with self._lock:
            self._count(refusal, noted)
            self._start()
        self._has_some.set()

    def flush(self) -> int:
        with self._lock:
            taken, self._noted = self._noted, {}
        try:
            write_log_entries(sorted(map(_entry, taken, taken.values()), key=lambda entry: entry.fold))
        except BaseException:
            self._put_back(taken)
            raise
        return len(taken)

    def _count(self, refusal: Refusal, noted: _Noted) -> None:
        if refusal not in self._noted and len(self._noted) >= MOST_KINDS:
            refusal = Refusal(refusal.minute, "", "", 0, "", "")
        known = self._noted.get(refusal)
        self._noted[refusal] = noted if known is None else replace(known, count=known.count + noted.count)

    def _put_back(self, taken: dict[Refusal, _Noted]) -> None:
        """Count what could not be written before what has come since: it is older."""
        with self._lock:
            since, self._noted = self._noted, taken
            for refusal, noted in since.items():
                self._count(refusal, noted)

    def _start(self) -> None:
        self._thread.start()

    def _run(self) -> None:
        # Started again after a failure: what was counted then must not wait for the next refusal.
        self._has_some.set()
        while True:
            self._has_some.wait()
            time.sleep(PAUSE_SECONDS)
            self._has_some.clear()
            if not self._try_to_flush():
                self._has_some.set()
                time.sleep(SILENCE_SECONDS)

    def _try_to_flush(self) -> bool:
        """Return whether all of it has been written."""
        try:
            with closing(connection):
                self.flush()
        except Exception as error:  # noqa: BLE001  (whatever keeps it from writing, the next time may be better)
            log.warning("refusals.not_written", error=repr(error), kinds=len(self._noted))
            return False
        return True


def _entry(refusal: Refusal, noted: _Noted) -> NewLogEntry:
    method, route, caller = refusal.method, refusal.route, refusal.caller
    identity = (refusal.minute.isoformat(), method, route, refusal.status, refusal.code, caller)
    data = {"method": method, "route": route, "status": refusal.status, "code": refusal.code, "caller": caller}
    return NewLogEntry(
        level=LogEntry.Level.WARNING,
        kind=LogEntry.Kind.REFUSED,
        template=REFUSED if refusal.status else MORE,
        data=data if refusal.status else {},
        subject=f"call/{method} {route}"[:120] if refusal.status else "",
        at=noted.at,
        correlation_id=noted.correlation_id,
        fold=hashlib.sha256("\n".join(map(str, identity)).encode()).hexdigest(),
        count=noted.count,
    )


# What was counted before a fork the parent writes.
_refusals = PerProcess(_Refusals)
