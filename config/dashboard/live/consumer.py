"""The socket of the live page, `/ws/dashboard/`: it sends and takes nothing."""

import asyncio
from time import monotonic
from typing import Any

import structlog
from channels.generic.websocket import AsyncWebsocketConsumer
from django.db import Error as DatabaseError

from config.dashboard.live.admission import Audience, Ticket, admit, ticket_of
from config.dashboard.live.broadcast import BEAT_SECONDS, FAILED, Closed, SocketQueue, broadcaster
from config.dashboard.live.watched_rows import KINDS, UnknownWatch, parse_watch

SEND_SECONDS = 10.0

log = structlog.get_logger(__name__)


class DashboardConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]  # channels has no types
    # The broadcaster sends to its own sockets: there is no layer, so that Redis may be away, or silent.
    channel_layer_alias = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Run until the other side hangs up, or has stopped reading: the server itself would wait for it for ever."""
        self._cut = asyncio.Event()
        self._queue: SocketQueue | None = None
        self._writer: asyncio.Task[None] | None = None

        async def receive_unless_cut() -> Any:
            return await _first(receive(), self._cut)

        try:
            await super().__call__(scope, receive_unless_cut, send)
        finally:
            await self._hang_up()

    async def connect(self) -> None:
        try:
            watch = parse_watch(self.scope["query_string"])
        except UnknownWatch:
            await self.close()
            return
        ticket = ticket_of(self.scope)
        audience = await _admit(ticket)
        if audience is None or (watch is not None and KINDS[watch.kind].part not in audience.parts):
            await self.close()
            return
        await self.accept()
        self._queue = SocketQueue(ticket, audience, watch)
        self._writer = asyncio.create_task(self._write(self._queue))
        broadcaster.subscribe(self._queue)

    async def _write(self, queue: SocketQueue) -> None:
        try:
            await self._speak(queue)
        except Closed as closed:
            await self.close(code=closed.code)
        except TimeoutError:
            log.info("live.reader_stalled")
            self._cut.set()
        except OSError:
            self._cut.set()  # it has gone while something was sent
        except Exception:
            # Nobody awaits this task: left open, the page would wait for ever.
            log.exception("live.writer_failed")
            await self.close(code=FAILED)

    async def _speak(self, queue: SocketQueue) -> None:
        """Send what the queue holds, at most one message a beat: what comes meanwhile is put together."""
        sent_at = monotonic() - BEAT_SECONDS
        while True:
            await asyncio.sleep(sent_at + BEAT_SECONDS - monotonic())
            text = await queue.take(broadcaster)
            sent_at = monotonic()
            async with asyncio.timeout(SEND_SECONDS):
                await self.send(text_data=text)

    async def _hang_up(self) -> None:
        if self._queue is None or self._writer is None:
            return
        broadcaster.unsubscribe(self._queue)
        self._writer.cancel()
        await asyncio.wait([self._writer])


async def _admit(ticket: Ticket) -> Audience | None:
    try:
        return await broadcaster.in_thread(admit, ticket)
    except DatabaseError as error:
        log.info("live.not_admitted", error=str(error))
        return None


async def _first(message: Any, cut: asyncio.Event) -> Any:
    """Wait for a message, or for the cut, which reads as the end."""
    arrived, ended = asyncio.ensure_future(message), asyncio.ensure_future(cut.wait())
    try:
        await asyncio.wait((arrived, ended), return_when=asyncio.FIRST_COMPLETED)
        return await arrived if arrived.done() else {"type": "websocket.disconnect", "code": 1006}
    finally:
        arrived.cancel()
        ended.cancel()
