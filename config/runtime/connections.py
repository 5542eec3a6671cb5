"""Limits at the socket, before the parser: how many connections, how large a head, and how long it may take.

Uvicorn takes a head of any size for as long as it comes, queues as many calls behind each other as are sent, and waits
for ever for a reader that has stopped. None of that reaches the ASGI layers.
"""

import asyncio
import http
from functools import cache
from ipaddress import ip_address, ip_network
from typing import Any

from django.conf import settings
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from config.common.correlation import HEADER, new_correlation_id
from config.common.errors import ApplicationError
from config.common.web.limits.calls import READER_PATIENCE
from config.common.web.limits.errors import (
    BadHttp,
    Busy,
    HeadStalled,
    HeadTooLarge,
    TooManyHeaders,
    UrlTooLong,
    answer_of,
)
from config.common.web.limits.shares import Caller, Shares, Standing
from config.common.web.networks import network_of

MAX_HEAD_BYTES = 32_768
MAX_URL_BYTES = 8192
MAX_HEADERS = 100
HEAD_SECONDS = 10.0
"""From the connection, or the first byte of a further call, to the end of the head."""
KEEP_ALIVE_SECONDS = 5
DRAIN_SECONDS = 30.0
"""For the reader to take the end of an answer, once the connection is to be closed."""
STALLED_SECONDS = READER_PATIENCE + 15.0
"""For a reader that has stopped in the middle of one, after the ASGI layer has given it up."""
MAX_PIPELINED = 16
"""Calls that wait behind one on the same connection; they are answered, what follows them is not."""
MAX_SOCKET_BYTES = 65_536
"""The largest message of a web socket."""
_PIECE = 16_384  # what the parser is given at once


@cache
def _connections() -> Shares:
    return Shares(settings.WEB_CONNECTIONS, each=settings.WEB_CONNECTIONS_PER_ADDRESS)


class _Counted:
    """A connection that counts, for its address, until it is lost."""

    _holder: Caller | None = None

    def _count(self, address: str, config: Config) -> bool:
        """Return whether it may stay."""
        holder = holder_of(address, config)
        if not _connections().take(holder):
            return False
        self._holder = holder
        return True

    def _release(self) -> None:
        if self._holder is not None:
            _connections().give_back(self._holder)
            self._holder = None


class Connection(_Counted, HttpToolsProtocol):
    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._in_head = False
        self._head_bytes = 0
        """Of the URL and of the headers that are complete; trailers count as headers."""
        self._unread = 0
        """Given to the parser since the call began, or since the last of its body came out: what it may hold back."""
        self._refusal: ApplicationError | None = None
        self._is_overfull = False
        self._is_upgraded = False
        self._timer: asyncio.TimerHandle | None = None
        self._reader_timer: asyncio.TimerHandle | None = None

    # --- the life of the connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self._count(self.client[0] if self.client else "", self.config):
            self._timer = self.loop.call_later(HEAD_SECONDS, self._head_stalled)
        else:
            self._refuse(Busy())

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._stop_reader_timer()
        self._release()
        super().connection_lost(exc)

    def handle_websocket_upgrade(self) -> None:
        self._is_upgraded = True
        self._stop_timer()
        self._release()
        super().handle_websocket_upgrade()

    def data_received(self, data: bytes) -> None:
        view = memoryview(data)
        for start in range(0, len(view), _PIECE):
            if self._is_overfull or self.transport.is_closing():
                return
            self._feed(view[start : start + _PIECE])

    def _feed(self, piece: memoryview) -> None:
        self._unread += len(piece)
        super().data_received(piece)  # type: ignore[arg-type]
        if self._is_upgraded:  # the line is the web socket's now: an answer of ours would be a broken frame
            return
        if self._refusal is None and self._unread > MAX_HEAD_BYTES:
            self._refusal = HeadTooLarge(MAX_HEAD_BYTES)
        if self._refusal is not None:
            self._refuse(self._refusal)
        elif self._timer is None and (self._in_head or self._is_idle):
            self._timer = self.loop.call_later(HEAD_SECONDS, self._head_stalled)

    # --- what the parser tells

    def on_message_begin(self) -> None:
        if self._stopped:
            return
        self._in_head = True
        self._unread = self._head_bytes = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        if self._stopped:
            return
        super().on_url(url)
        self._head_bytes += len(url)
        if len(self.url) > MAX_URL_BYTES:
            self._refusal = UrlTooLong(MAX_URL_BYTES)

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._stopped:
            return
        super().on_header(name, value)
        self._head_bytes += len(name) + len(value) + 4
        if self._head_bytes > MAX_HEAD_BYTES:
            self._refusal = HeadTooLarge(MAX_HEAD_BYTES)
        elif len(self.headers) > MAX_HEADERS:
            self._refusal = TooManyHeaders(MAX_HEADERS)

    def on_headers_complete(self) -> None:
        if self._stopped:
            return
        self._in_head = False
        self._stop_timer()
        if len(self.pipeline) < MAX_PIPELINED:
            super().on_headers_complete()
            return
        self._is_overfull = True
        self.pipeline[0][0].keep_alive = False  # the newest

    def on_body(self, body: bytes) -> None:
        if self._stopped:
            return
        self._unread = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        if not self._stopped:
            super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing():
            self._see_it_end()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._see_it_end()

    def send_400_response(self, msg: str) -> None:
        self._refuse(self._refusal or BadHttp())

    def pause_writing(self) -> None:
        super().pause_writing()
        self._reader_timer = self.loop.call_later(STALLED_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        self._stop_reader_timer()
        super().resume_writing()

    # --- how it ends

    @property
    def _stopped(self) -> bool:
        return self._refusal is not None or self._is_overfull

    @property
    def _is_idle(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle  # there is none before the first call
        return cycle is None or cycle.response_complete

    def _head_stalled(self) -> None:
        if self._is_idle:
            self._timer = None
            self._refuse(HeadStalled())
        else:  # the call before it is not to blame
            self._timer = self.loop.call_later(HEAD_SECONDS, self._head_stalled)

    def _refuse(self, refusal: ApplicationError) -> None:
        """Answer, unless another call on the same connection is being answered, and close."""
        self._refusal = refusal
        if self.transport.is_closing():
            return
        if self._is_idle:
            self.transport.write(_encode(refusal))
        self.transport.close()
        self._see_it_end()

    def _see_it_end(self) -> None:
        """A transport that is closed waits for its reader; not for ever."""
        self._stop_timer()
        self._timer = self.loop.call_later(DRAIN_SECONDS, self.transport.abort)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _stop_reader_timer(self) -> None:
        if self._reader_timer is not None:
            self._reader_timer.cancel()
            self._reader_timer = None


class WebSocket(_Counted, WebSocketsSansIOProtocol):
    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        # Its place was free a moment ago, when the call gave it back.
        self._count(self.client[0] if self.client else "", self.config)

    def connection_lost(self, exc: Exception | None) -> None:
        self._release()
        super().connection_lost(exc)


def holder_of(address: str, config: Config) -> Caller:
    """Return whom a connection counts for: its address, unless that is a proxy that many come through."""
    trusted = config.forwarded_allow_ips if config.proxy_headers else ""
    names = tuple(trusted.split(",")) if isinstance(trusted, str) else tuple(trusted)
    return _holder_of(address, names)


@cache
def _proxies(names: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(ip_network(name.strip()) for name in names if name.strip() not in ("", "*"))


def _holder_of(address: str, names: tuple[str, ...]) -> Caller:
    if "*" in names:
        return Caller(address, Standing.CROWD)
    try:
        is_proxy = any(ip_address(address) in network for network in _proxies(names))
    except ValueError:
        is_proxy = False
    return Caller(address, Standing.CROWD) if is_proxy else Caller(network_of(address), Standing.KNOWN)


def _encode(error: ApplicationError) -> bytes:
    start, body = answer_of(error)
    phrase = http.HTTPStatus(error.status).phrase.encode()
    headers = [*start["headers"], (HEADER, new_correlation_id().encode())]
    lines = [b"HTTP/1.1 %d %s" % (error.status, phrase), *(name + b": " + value for name, value in headers)]
    return b"\r\n".join([*lines, b"", body])
