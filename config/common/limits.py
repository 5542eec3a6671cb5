"""The outermost ASGI layers: what a call may take of the process before any view, middleware or parser sees it.

Django spools a whole body before its first middleware and starts a thread for every call, so neither limit can live
inside it. Whatever is refused here has the error shape and the correlation id of every other answer.
"""

import asyncio
import errno
import re
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import msgspec
import structlog
from asgiref.sync import ThreadSensitiveContext
from asgiref.typing import (
    ASGI3Application,
    ASGIReceiveCallable,
    ASGIReceiveEvent,
    ASGISendCallable,
    ASGISendEvent,
    HTTPResponseStartEvent,
    HTTPScope,
    Scope,
)

from config.common.correlation import HEADER, PATTERN, correlated
from config.common.errors import ApplicationError, DiskFull, InternalError, Invalid, NotFound, TooLarge

BODY_PATIENCE = 15.0
READER_PATIENCE = 60.0
LINGER_SECONDS, LINGER_BYTES = 1.0, 8_388_608  # about what the buffers of a connection hold

log = structlog.get_logger(__name__)


class BodyStalled(ApplicationError):
    """The rest of the body did not arrive in time. Nothing of it has been kept."""

    status = 408


class Busy(ApplicationError):
    """Too many calls at once. Repeat the call a little later."""

    status = 503
    retry_after = 1


class Limits:
    """Give each call its correlation id, stop a body that is too large or stalls, answer what failed below."""

    def __init__(
        self,
        app: ASGI3Application,
        *,
        body_limits: Sequence[tuple[str, int]],  # by a pattern that the path begins with; the first match counts
        body_patience: float = BODY_PATIENCE,
        reader_patience: float = READER_PATIENCE,
        on_refusal: Callable[[HTTPScope, ApplicationError], None] | None = None,
    ) -> None:
        self._app = app
        self._on_refusal = on_refusal
        self._body_limits = body_limits
        self._body_patience = body_patience
        self._reader_patience = reader_patience

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = next((size for start, size in self._body_limits if re.match(start, scope["path"])), 0)
        with correlated(_callers_id(scope)) as chosen:
            ends = _Ends(receive, send, chosen, limit, self._body_patience, self._reader_patience)
            refusal = await self._run(scope, ends, limit)
            if refusal is not None and self._on_refusal is not None:
                self._on_refusal(scope, refusal)
            if refusal is not None and not ends.answered:
                await ends.refuse(refusal, body_follows=_announces_body(scope))

    async def _run(self, scope: HTTPScope, ends: "_Ends", limit: int) -> ApplicationError | None:
        """Return why the call was refused, if it was."""
        try:
            _check_head(scope, limit)
            await self._app(scope, ends.receive, ends.send)
        except ApplicationError as refusal:
            return refusal
        except Exception as error:  # noqa: BLE001 (below this line there is only the server, which knows no error shape)
            log.error("call.failed", path=scope["path"], exc_info=error)
            return DiskFull() if isinstance(error, OSError) and error.errno == errno.ENOSPC else InternalError()
        return ends.refusal


class Gate:
    """Let only so many calls under one path in at once."""

    def __init__(self, app: ASGI3Application, *, path: str, calls: int) -> None:
        self._app = app
        self._path = path
        self._left = calls

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(self._path):
            await self._app(scope, receive, send)
            return
        if not self._left:
            raise Busy
        self._left -= 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._left += 1


class Slots:
    """Let only so many calls into Django at once; a slot is the thread that all of a call's synchronous code runs in.

    The threads are kept and lent, so there cannot be more of them than slots, even while the callers of slow views
    hang up and others take their place.
    """

    def __init__(self, app: ASGI3Application, *, calls: int) -> None:
        self._app = app
        self._free = [ThreadPoolExecutor(1, f"call-{number}") for number in range(calls)]

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        if not self._free:
            raise Busy
        thread = self._free.pop()
        try:
            async with ThreadSensitiveContext(executor=thread):
                await self._app(scope, receive, send)
        finally:
            self._free.append(thread)


class _Ends:
    """The two ends of one call: counts what comes in, sees that both ends move, marks the answer."""

    def __init__(
        self,
        receive: ASGIReceiveCallable,
        send: ASGISendCallable,
        correlation_id: str,
        limit: int,
        body_patience: float,
        reader_patience: float,
    ) -> None:
        self._receive, self._send = receive, send
        self._mark = (HEADER, correlation_id.encode())
        self._limit = self._left = limit
        self._body_patience, self._reader_patience = body_patience, reader_patience
        self._body_is_complete = False
        self._cut = asyncio.Event()
        self.answered = False
        self.refusal: ApplicationError | None = None

    async def receive(self) -> ASGIReceiveEvent:
        if self._cut.is_set():
            return {"type": "http.disconnect"}
        if self._body_is_complete:
            return await self._end_of_call()
        try:
            async with asyncio.timeout(self._body_patience):
                message = await self._receive()
        except TimeoutError:
            return self._cut_off(BodyStalled())
        if message["type"] != "http.request":
            return message
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            return self._cut_off(TooLarge(self._limit))
        self._body_is_complete = not message.get("more_body", False)
        return message

    async def send(self, message: ASGISendEvent) -> None:
        """Pass the answer on; a caller that has stopped reading it counts as gone, or it would keep its slot."""
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
        start, body = _error_answer(refusal)
        start["headers"] = self._marked(start["headers"])
        await self._send(start)
        await self._send({"type": "http.response.body", "body": body, "more_body": body_follows})
        if body_follows:
            await self._linger()
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    def _marked(self, headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        return [*(header for header in headers if header[0].lower() != HEADER), self._mark]

    def _cut_off(self, refusal: ApplicationError) -> ASGIReceiveEvent:
        """Tell the app that its caller is gone; it drops what it has of the body."""
        self.refusal = refusal
        self._cut.set()
        return {"type": "http.disconnect"}

    async def _end_of_call(self) -> ASGIReceiveEvent:
        """Wait until the caller hangs up or is cut off."""
        hung_up = asyncio.ensure_future(self._receive())
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
                    message = await self._receive()
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


def _error_answer(error: ApplicationError) -> tuple[HTTPResponseStartEvent, bytes]:
    body = msgspec.json.encode({"code": error.code, "message": error.message, "data": error.data})
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
        (b"x-content-type-options", b"nosniff"),
        (b"connection", b"close"),
    ]
    if error.retry_after is not None:
        headers.append((b"retry-after", str(error.retry_after).encode()))
    return {"type": "http.response.start", "status": error.status, "headers": headers, "trailers": False}, body
