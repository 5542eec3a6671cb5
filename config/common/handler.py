"""Django's ASGI handler, with all synchronous code of a call in one go of its thread."""

import asyncio
from contextlib import suppress
from typing import IO, Any

from asgiref.sync import sync_to_async
from django.core import signals
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.http.response import HttpResponseBase
from django.urls import set_script_prefix


class ThreadedHandler(ASGIHandler):
    """Runs everything between the body and the answer in the thread that the call was lent.

    Every view here is synchronous, and so is the middleware. Left to itself, the handler goes to the thread and back
    for the signals at both ends, for the middleware and for the view: ten changes of threads a call, each of which
    waits for the interpreter's lock behind every other call. Answers that are streamed are still read by the loop.
    """

    def load_middleware(self, is_async: bool = False) -> None:
        super().load_middleware(is_async=False)

    async def handle(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return
        try:
            response = await sync_to_async(self._respond)(scope, body)
            if response.streaming:
                await self._stream(response, receive, send)
            else:
                await self.send_response(response, send)
        finally:
            body.close()

    def _respond(self, scope: Any, body: IO[bytes]) -> HttpResponseBase:
        """Run the call. What is not streamed is at its end here: its connections go back before it is sent."""
        set_script_prefix(get_script_prefix(scope))
        signals.request_started.send(sender=self.__class__, scope=scope)
        request, refusal = self.create_request(scope, body)
        response = refusal if request is None else self.get_response(request)
        assert response is not None  # one or the other
        response._handler_class = self.__class__  # type: ignore[attr-defined]
        if not response.streaming:
            response.close()
        return response

    async def _stream(self, response: HttpResponseBase, receive: Any, send: Any) -> None:
        """Send the pieces until the end or until the caller hangs up; then close, which says how it ended."""
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
            await sync_to_async(response.close)()
