"""The outermost ASGI layer: head, body and answer of each call, and what is answered in place of the app."""

import asyncio
import errno
import re
from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
from functools import partial
from typing import Any, cast

import structlog
from asgiref.typing import (
    ASGI3Application,
    ASGIReceiveCallable,
    ASGIReceiveEvent,
    ASGISendCallable,
    ASGISendEvent,
    HTTPScope,
    Scope,
    WebSocketScope,
)

from config.common.correlation import HEADER, PATTERN, correlated
from config.common.errors import ApplicationError, DiskFull, InternalError, Invalid, NotFound, TooLarge
from config.common.web.limits.bodies import Body, HungUp, Spool
from config.common.web.limits.buckets import Buckets
from config.common.web.limits.callers import caller_of, network_in
from config.common.web.limits.errors import Busy, TooManyCalls, answer_of
from config.common.web.limits.pace import Pace
from config.common.web.limits.refusals import REFUSED, Answer, Refusals
from config.common.web.limits.shares import Caller, Shares, Standing

READER_PATIENCE = 30.0
"""Seconds for each piece of an answer, which is of 64 KiB but for the last one."""
ANSWER_RATE = ANSWER_BURST = 16_777_216
"""Bytes a second of one caller's large answers, after so many at once: to write them out takes the processor too."""
SMALL_ANSWER = 65_536
"""What an answer has before its bytes are counted."""
MOST_CALLS = 1000
"""Calls under way, from the end of the head to the end of the answer, and web sockets."""

REFUSED_RATE, REFUSED_BURST = 10.0, 600
"""Calls a second that are answered 401 or 403: of a key, for each method and path; of strangers, for their address."""
API = "/api/"

BODY = "postern.body"
CALLER = "postern.caller"
HEAD_ALONE = "postern.head_alone"
"""Set where a call is looked at before its body is there."""

CheckHead = Callable[[HTTPScope, Caller], Awaitable[Answer | None]]

log = structlog.get_logger(__name__)


class _Refused(Exception):
    """The call gets this answer, whatever its body is."""

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self.answer = answer


class Limits:
    """Give each call its correlation id and its body, within the limits, and answer what failed below."""

    def __init__(
        self,
        app: ASGI3Application,
        *,
        body_limits: Sequence[tuple[str, int]],  # by a pattern that the path begins with; the first match counts
        spool: Spool | None = None,
        calls: int = MOST_CALLS,
        reader_patience: float = READER_PATIENCE,
        on_refusal: Callable[[HTTPScope, ApplicationError], None] | None = None,
        check_head: CheckHead | None = None,
        refused: Buckets | None = None,
        answers: Pace | None = None,
    ) -> None:
        self._app = app
        self._on_refusal = on_refusal
        self._check_head = check_head
        self._refusals = Refusals(refused or Buckets(rate=REFUSED_RATE, burst=REFUSED_BURST))
        self._body_limits = [(re.compile(start), size) for start, size in body_limits]
        self._spool = spool or Spool()
        self._under_way = Shares(calls)
        self._reader_patience = reader_patience
        self._answers = answers or Pace(ANSWER_RATE, burst=ANSWER_BURST)

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        if scope["type"] == "http":
            with correlated(_callers_id(scope)) as chosen:
                rest = partial(self._answers.rest, _reader(scope))
                await self._serve(scope, _Ends(receive, send, chosen, self._reader_patience, rest))
        elif scope["type"] == "websocket":
            await self._open(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _serve(self, scope: HTTPScope, ends: "_Ends") -> None:
        try:
            refusal = await self._run(scope, ends)
        except _Refused as refused:
            await self._refuse(scope, ends, refused.answer)
            return
        if refusal is not None and self._on_refusal is not None:
            self._on_refusal(scope, refusal)
        if refusal is not None and not ends.answered:
            await self._refuse(scope, ends, answer_of(refusal))

    async def _refuse(self, scope: HTTPScope, ends: "_Ends", answer: Answer) -> None:
        """Answer in place of the app, and close the connection: the rest of the body is not worth reading."""
        body_follows = ends.body is None and _announces_body(scope)
        await ends.refuse(answer, body_follows=body_follows)
        if body_follows:
            await self._spool.discard(ends.receive_body)
            await ends.end()

    async def _run(self, scope: HTTPScope, ends: "_Ends") -> ApplicationError | None:
        """Return why the call was refused, if it was."""
        caller = caller_of(scope)
        payer = _payer(scope, caller)
        # A right key that is new to this process is refused with the wrong ones of its address, until one of the calls
        # that still come through is its own. To look it up first would cost a query for each key that somebody makes
        # up, which is what this keeps away; and a bound on those queries would be used up by whoever makes keys up.
        if payer is not None and self._refusals.is_over(payer):
            return TooManyCalls()
        if payer is not None and (repeated := self._refusals.find(payer, scope["query_string"])):
            self._refusals.count(payer)
            raise _Refused(repeated)
        if not self._under_way.take(caller):
            return Busy()
        try:
            limit = next((size for start, size in self._body_limits if start.match(scope["path"])), 0)
            _check_head(scope, limit)
            check = partial(self._check, scope, caller)
            ends.body = await self._spool.read(ends.receive_body, limit=limit, caller=caller, check=check)
            known = cast(HTTPScope, {**scope, BODY: ends.body, CALLER: caller})
            await self._app(known, ends.receive, ends.send)
        except HungUp:
            ends.answered = True  # by nobody
        except _Refused as refused:
            ends.status = refused.answer[0]["status"]
            if payer is not None and ends.status in REFUSED and caller.standing is Standing.KNOWN:
                self._refusals.remember(payer, scope["query_string"], refused.answer)
            raise
        except ApplicationError as refusal:
            return refusal
        except Exception as error:  # noqa: BLE001 (below this line there is only the server, which knows no error shape)
            log.error("call.failed", path=scope["path"], exc_info=error)
            return DiskFull() if isinstance(error, OSError) and error.errno == errno.ENOSPC else InternalError()
        finally:
            self._under_way.give_back(caller)
            if payer is not None and ends.status in REFUSED:
                self._refusals.count(payer)
            if ends.body is not None:
                ends.body.close()
        return None

    async def _check(self, scope: HTTPScope, caller: Caller) -> None:
        """Refuse a large body that nobody would look at: of a key that is wrong, or may not do that."""
        answer = None if self._check_head is None else await self._check_head(scope, caller)
        if answer is not None:
            raise _Refused(answer)

    async def _open(self, scope: WebSocketScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        caller = caller_of(scope)
        if not self._under_way.take(caller):
            await send({"type": "websocket.close", "code": 1013, "reason": ""})
            return
        try:
            await self._app(scope, receive, send)
        finally:
            self._under_way.give_back(caller)


class Gate:
    """Let only so many calls under one path in at once."""

    def __init__(self, app: ASGI3Application, *, path: str, calls: int) -> None:
        self._app = app
        self._path = path
        self._calls = Shares(calls)

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(self._path):
            await self._app(scope, receive, send)
            return
        caller = given_caller(scope)
        if not self._calls.take(caller):
            raise Busy
        try:
            await self._app(scope, receive, send)
        finally:
            self._calls.give_back(caller)


def given_caller(scope: HTTPScope) -> Caller:
    """Return whom the outermost layer counts the call against."""
    found: Caller | None = cast(Any, scope).get(CALLER)
    return found or caller_of(scope)


def take_body(scope: HTTPScope) -> Body:
    """Return the body that the outermost layer has read; from then on `receive` waits for the end of the call."""
    body: Body = cast(Any, scope)[BODY]
    body.is_taken = True
    return body


class _Ends:
    """The two ends of one call: hands out the body that was read, sees that the answer moves, marks it."""

    def __init__(
        self,
        receive: ASGIReceiveCallable,
        send: ASGISendCallable,
        correlation_id: str,
        reader_patience: float,
        rest: Callable[[int], Awaitable[float]],
    ) -> None:
        self.receive_body, self._send = receive, send
        self._mark = (HEADER, correlation_id.encode())
        self._reader_patience = reader_patience
        self._rest = rest
        self._sent = 0
        self._cut = asyncio.Event()
        self.body: Body | None = None
        self.answered = False
        self.status = 0

    async def receive(self) -> ASGIReceiveEvent:
        if self._cut.is_set():
            return {"type": "http.disconnect"}
        assert self.body is not None  # the app does not begin before it is there
        if self.body.is_taken:
            return await self._end_of_call()
        self.body.is_taken = True
        return {"type": "http.request", "body": self.body.file.read(), "more_body": False}

    async def send(self, message: ASGISendEvent) -> None:
        """Pass the answer on; a caller that has stopped reading it counts as gone."""
        if self._cut.is_set():
            return
        if message["type"] == "http.response.start":
            self.answered, self.status = True, message["status"]
            message["headers"] = self._marked(message.get("headers", ()))
        elif message["type"] == "http.response.body":
            await self._throttle(len(message.get("body", b"")))
        try:
            async with asyncio.timeout(self._reader_patience):
                await self._send(message)
        except TimeoutError:
            log.warning("call.reader_stalled")
            self._cut.set()

    async def _throttle(self, size: int) -> None:
        """Wait before the next piece of an answer that turns out to be large; the call has no slot meanwhile."""
        self._sent += size
        if size and self._sent > SMALL_ANSWER:
            await self._rest(size)

    async def refuse(self, answer: Answer, *, body_follows: bool) -> None:
        """Answer in place of the app; where the rest of a body still comes, the connection stays until `end`."""
        start, body = answer
        self.answered = True
        await self._send({**start, "headers": self._marked(start["headers"])})
        await self._send({"type": "http.response.body", "body": body, "more_body": body_follows})

    async def end(self) -> None:
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    def _marked(self, headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        return [*(header for header in headers if header[0].lower() != HEADER), self._mark]

    async def _end_of_call(self) -> ASGIReceiveEvent:
        """Wait until the caller hangs up or is cut off."""
        hung_up = asyncio.ensure_future(self.receive_body())
        cut = asyncio.ensure_future(self._cut.wait())
        try:
            await asyncio.wait((hung_up, cut), return_when=asyncio.FIRST_COMPLETED)
            return hung_up.result() if hung_up.done() else {"type": "http.disconnect"}
        finally:
            hung_up.cancel()
            cut.cancel()


def _reader(scope: HTTPScope) -> str:
    """Name whose large answers are counted together: strangers by where they are, for they have pages of ours open."""
    caller = caller_of(scope)
    return network_in(scope) if caller.standing is Standing.STRANGER else caller.name


def _payer(scope: HTTPScope, caller: Caller) -> Hashable | None:
    """Name whom a refusal of the API is counted against: a key that is right may still do something else."""
    if not scope["path"].startswith(API):
        return None
    if caller.standing is Standing.STRANGER:
        return network_in(scope)
    return caller.name, scope["method"], scope["path"][:200]


def _check_head(scope: HTTPScope, limit: int) -> None:
    """Refuse what can be refused before the body: text that no database column takes, and an announced size."""
    if "\0" in scope["path"] or not scope["path"].startswith("/"):
        raise NotFound
    query = scope["query_string"]
    if b"%00" in query or b"\0" in query or not _is_utf8(query):
        raise Invalid({"query": ["must be UTF-8 without the NUL character"]})
    lengths = [length for length in _headers(scope, b"content-length") if length.isdigit()]
    if any(len(length) > 18 or int(length) > limit for length in lengths):
        raise TooLarge(limit)


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _announces_body(scope: HTTPScope) -> bool:
    lengths = _headers(scope, b"content-length")
    return bool(_headers(scope, b"transfer-encoding")) or any(length != b"0" for length in lengths)


def _callers_id(scope: HTTPScope) -> str | None:
    sent = [value.decode("latin-1") for value in _headers(scope, HEADER)]
    return sent[0] if len(sent) == 1 and PATTERN.fullmatch(sent[0]) else None


def _headers(scope: HTTPScope, name: bytes) -> list[bytes]:
    return [value for header, value in scope["headers"] if header == name]
