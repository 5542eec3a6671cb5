"""The outermost ASGI layer: head, body and answer of each call, and what is answered in place of the app."""

import asyncio
import errno
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
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
from config.common.web.limits.callers import caller_of
from config.common.web.limits.errors import Busy, answer_of
from config.common.web.limits.shares import Caller, Shares

READER_PATIENCE = 30.0
"""Seconds for each piece of an answer, which is of 64 KiB but for the last one."""
LINGER_SECONDS, LINGER_BYTES = 1.0, 8_388_608  # about what the buffers of a connection hold
MOST_CALLS = 1000
"""Calls under way, from the end of the head to the end of the answer, and web sockets."""

BODY = "postern.body"
CALLER = "postern.caller"

log = structlog.get_logger(__name__)


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
    ) -> None:
        self._app = app
        self._on_refusal = on_refusal
        self._body_limits = [(re.compile(start), size) for start, size in body_limits]
        self._spool = spool or Spool()
        self._under_way = Shares(calls)
        self._reader_patience = reader_patience

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        if scope["type"] == "http":
            with correlated(_callers_id(scope)) as chosen:
                await self._serve(scope, _Ends(receive, send, chosen, self._reader_patience))
        elif scope["type"] == "websocket":
            await self._open(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _serve(self, scope: HTTPScope, ends: "_Ends") -> None:
        refusal = await self._run(scope, ends)
        if refusal is not None and self._on_refusal is not None:
            self._on_refusal(scope, refusal)
        if refusal is not None and not ends.answered:
            await ends.refuse(refusal, body_follows=ends.body is None and _announces_body(scope))

    async def _run(self, scope: HTTPScope, ends: "_Ends") -> ApplicationError | None:
        """Return why the call was refused, if it was."""
        caller = caller_of(scope)
        if not self._under_way.take(caller):
            return Busy()
        try:
            limit = next((size for start, size in self._body_limits if start.match(scope["path"])), 0)
            _check_head(scope, limit)
            ends.body = await self._spool.read(ends.receive_body, limit=limit, caller=caller)
            await self._app(_with(scope, ends.body, caller), ends.receive, ends.send)
        except HungUp:
            ends.answered = True  # by nobody
        except ApplicationError as refusal:
            return refusal
        except Exception as error:  # noqa: BLE001 (below this line there is only the server, which knows no error shape)
            log.error("call.failed", path=scope["path"], exc_info=error)
            return DiskFull() if isinstance(error, OSError) and error.errno == errno.ENOSPC else InternalError()
        finally:
            self._under_way.give_back(caller)
            if ends.body is not None:
                ends.body.close()
        return None

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


def _with(scope: HTTPScope, body: Body, caller: Caller) -> HTTPScope:
    return cast(HTTPScope, {**scope, BODY: body, CALLER: caller})


class _Ends:
    """The two ends of one call: hands out the body that was read, sees that the answer moves, marks it."""

    def __init__(
        self, receive: ASGIReceiveCallable, send: ASGISendCallable, correlation_id: str, reader_patience: float
    ) -> None:
        self.receive_body, self._send = receive, send
        self._mark = (HEADER, correlation_id.encode())
        self._reader_patience = reader_patience
        self._cut = asyncio.Event()
        self.body: Body | None = None
        self.answered = False

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
            self.answered = True
            message["headers"] = self._marked(message.get("headers", ()))
        try:
            async with asyncio.timeout(self._reader_patience):
                await self._send(message)
        except TimeoutError:
            log.warning("call.reader_stalled")
            self._cut.set()

    async def refuse(self, refusal: ApplicationError, *, body_follows: bool) -> None:
        """Answer in place of the app, and close the connection: the rest of the body is not worth reading."""
        start, body = answer_of(refusal)
        start["headers"] = self._marked(start["headers"])
        await self._send(start)
        await self._send({"type": "http.response.body", "body": body, "more_body": body_follows})
        if body_follows:
            await self._linger()
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

    async def _linger(self) -> None:
        """Discard a little more: closing with bytes unread resets the connection, and the caller loses the answer."""
        left = LINGER_BYTES
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGER_SECONDS):
                while left > 0:
                    message = await self.receive_body()
                    if message["type"] != "http.request" or not message.get("more_body", False):
                        return
                    left -= len(message.get("body", b""))


def _check_head(scope: HTTPScope, limit: int) -> None:
    """Refuse what can be refused before the body: text that no database column takes, and an announced size."""
    if "\0" in scope["path"] or not scope["path"].startswith("/"):
        raise NotFound
    query = scope["query_string"]
    if b"%00" in query or b"\0" in query or not _is_utf8(query):
        raise Invalid({"query": ["must be UTF-8 without the NUL character"]})
    if any(_exceeds(length, limit) for length in _headers(scope, b"content-length")):
        raise TooLarge(limit)


def _exceeds(length: bytes, limit: int) -> bool:
    return length.isdigit() and (len(length) > 18 or int(length) > limit)


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
