"""Django's ASGI handler, with all synchronous code of a call in one go of its thread."""

import asyncio
import io
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from functools import partial
from typing import IO, Any, ParamSpec, TypeVar

from asgiref.sync import sync_to_async
from django.core import signals
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import Resolver404, resolve, set_script_prefix

from config.common.web.limits.callers import KnownCallers, credential_of, known_callers
from config.common.web.limits.calls import HEAD_ALONE, SMALL_ANSWER, given_caller, take_body
from config.common.web.limits.lanes import Lanes
from config.common.web.limits.refusals import Answer
from config.common.web.limits.shares import Caller, Shares
from config.common.web.limits.slots import Slots

P = ParamSpec("P")
T = TypeVar("T")

ANSWER_BYTES = 67_108_864
"""Of all answers of a process that wait for their readers; one that finds no room keeps its slot."""


class ThreadedHandler(ASGIHandler):
    """Runs everything between the body and the answer in the thread that the call is lent.

    Every view here is synchronous, and so is the middleware. Left to itself, the handler goes to the thread and back
    for the signals at both ends, for the middleware and for the view: ten changes of threads a call, each of which
    waits for the interpreter's lock behind every other call.

    The body is there before a slot is asked for, and the answer leaves after it was given back. Of a streamed answer
    each piece is read in a slot of its own, so whoever reads slowly holds none.
    """

    def __init__(self, lanes: Lanes, known: KnownCallers = known_callers) -> None:
        super().__init__()
        self._lanes = lanes
        self._known = known
        self._answers = Shares(ANSWER_BYTES)

    def load_middleware(self, is_async: bool = False) -> None:
        super().load_middleware(is_async=False)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.handle(scope, receive, send)

    async def handle(self, scope: Any, receive: Any, send: Any) -> None:
        body = take_body(scope)
        caller = given_caller(scope)
        lane = self._lanes.lane_of(scope["method"], scope["path"], body.size)
        async with lane.lend(caller):
            response, verified = await self._run(caller, self._respond, scope, body.file)
            if verified:
                self._known.remember(credential_of(scope), verified)
            room = self._make_room(response, caller)
            if room is None:
                await self.send_response(response, send)
                return
        if response.streaming:
            await self._stream(response, lane, caller, receive, send)
            return
        try:
            await self.send_response(response, send)
        finally:
            if room:
                self._answers.give_back(caller, room)

    async def _run(self, caller: Caller, respond: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        """Run it in the thread that the call was lent, and count what it computes there for the caller."""
        result, seconds = await sync_to_async(_timed)(partial(respond, *args, **named))
        self._lanes.processor.note(caller, seconds)
        return result

    async def check_head(self, scope: Any, caller: Caller) -> Answer | None:
        """Return how the call is refused whatever its body is, or nothing where that has to be read.

        A session is not looked at: what shows that its own pages call may stand in the body.
        """
        shows_key = any(name == b"authorization" for name, _ in scope["headers"])
        if not shows_key and credential_of(scope):
            return None
        async with self._lanes.api.lend(caller):
            response, verified = await self._run(caller, self._respond_to_head, scope)
            if verified:
                self._known.remember(credential_of(scope), verified)
        return None if response is None or response.status_code < 400 else _encoded(response)

    def _respond_to_head(self, scope: Any) -> tuple[HttpResponseBase | None, str]:
        with suppress(Resolver404):
            view = getattr(resolve(scope["path"]).func, "cls", None)
            if not getattr(view, "checks_head", False):
                return None, ""
        return self._respond({**scope, HEAD_ALONE: True}, io.BytesIO())

    def _make_room(self, response: Any, caller: Caller) -> int | None:
        """Return how much the answer takes of the room for those that are being sent, or nothing where it has none."""
        if response.streaming or len(response.content) <= SMALL_ANSWER:
            return 0
        size = len(response.content)
        return size if self._answers.take(caller, size) else None

    def _respond(self, scope: Any, body: IO[bytes]) -> tuple[HttpResponseBase, str]:
        """Run the call; return the answer, and who has called if that was found out.

        What is not streamed is at its end here: its connections go back before it is sent.
        """
        set_script_prefix(get_script_prefix(scope))
        signals.request_started.send(sender=self.__class__, scope=scope)
        request, refusal = self.create_request(scope, body)
        response = refusal if request is None else self.get_response(request)
        assert response is not None  # one or the other
        response._handler_class = self.__class__  # type: ignore[attr-defined]
        if not response.streaming:
            response.close()
        return response, "" if request is None else _verified(request)

    async def _stream(self, response: Any, lane: Slots, caller: Caller, receive: Any, send: Any) -> None:
        """Send the pieces until the end or until the caller hangs up; then close, which says how it ended."""
        assert response.is_async, "a synchronous iterator would be gathered whole"
        response.streaming_content = _read_in_slots(response.streaming_content, lane, caller)
        sending = asyncio.ensure_future(self.send_response(response, send))
        hanging_up = asyncio.ensure_future(self.listen_for_disconnect(receive))
        try:
            await asyncio.wait((sending, hanging_up), return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                sending.result()
        finally:
            for task in (sending, hanging_up):
                task.cancel()
                with suppress(asyncio.CancelledError, RequestAborted, Exception):
                    await task
            async with lane.lend(caller, ever=True):
                await sync_to_async(response.close)()


async def _read_in_slots(pieces: AsyncIterator[bytes], lane: Slots, caller: Caller) -> AsyncIterator[bytes]:
    """Hold a slot while a piece is read, and none while it is sent."""
    while True:
        async with lane.lend(caller, ever=True):
            reading = asyncio.ensure_future(_next(pieces))
            try:
                await asyncio.wait((reading,))
            finally:
                # Whoever hangs up meanwhile: the thread is given back when it has come to its end, not before.
                await asyncio.wait((reading,))
        piece = reading.result()
        if piece is None:
            return
        yield piece


async def _next(pieces: AsyncIterator[bytes]) -> bytes | None:
    return await anext(pieces, None)


def _timed(respond: Callable[[], T]) -> tuple[T, float]:
    began = time.thread_time()
    return respond(), time.thread_time() - began


def _encoded(response: Any) -> Answer:
    """Return head and body; the connection is closed after them, for the body of the call is not read."""
    headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in response.items()]
    headers = [header for header in headers if header[0] not in (b"connection", b"content-length")]
    length = str(len(response.content)).encode()
    headers += [(b"content-length", length), (b"connection", b"close")]
    start: Any = {"type": "http.response.start", "status": response.status_code, "headers": headers, "trailers": False}
    return start, response.content


def _verified(request: HttpRequest) -> str:
    """Name whoever was found to be right: the key of a call of the API, or the account of a session."""
    key = getattr(request, "auth", None)
    if key is not None:
        return f"key {key.prefix}"
    account = getattr(request, "_cached_user", None)
    return f"account {account.pk}" if account is not None and account.is_authenticated else ""
