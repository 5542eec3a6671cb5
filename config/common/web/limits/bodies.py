"""Bodies are read to their end before a call gets a slot: however slowly one comes, it holds nothing but itself."""

import asyncio
import io
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import IO

from asgiref.typing import ASGIReceiveCallable

from config.common.errors import TooLarge
from config.common.web.limits.errors import BodyStalled, Busy
from config.common.web.limits.pace import Pace
from config.common.web.limits.shares import Caller, Shares

BODY_PATIENCE = 15.0
"""Seconds in which the first bytes must come; every `MIN_BODY_RATE` bytes that have come add one."""
MIN_BODY_RATE = 4096
LONGEST_BODY = 600.0
MEMORY_PER_BODY = 65_536
"""What is larger lies in a temporary file until it is whole."""
SPOOLED_BYTES = 268_435_456
"""In temporary files of all bodies of a process."""
SPOOL_RATE = 33_554_432
"""Bytes a second that all bodies of a process write there: more would keep the disk from what must be durable."""
BODY_RATE, BODY_BURST = 4_194_304, 8_388_608
"""Bytes a second of one caller's large bodies, after so many at once; all strangers together have as much. Whoever
sends faster waits: to look at a megabyte takes the processor for as long as ten ordinary calls."""
LINGER_SECONDS, LINGER_BYTES = 1.0, 8_388_608  # about what the buffers of a connection hold
PACE_PATIENCE = 5.0
"""Seconds for which a body waits at a time; whoever has sent so much at once that it would be longer is refused."""

Check = Callable[[], Awaitable[None]]


class HungUp(Exception):
    """The caller has gone; there is nobody to answer."""


class Spool:
    """Where bodies are put together."""

    def __init__(
        self,
        *,
        patience: float = BODY_PATIENCE,
        rate: float = MIN_BODY_RATE,
        spooled: int = SPOOLED_BYTES,
        spool_rate: float = SPOOL_RATE,
        body_rate: float = BODY_RATE,
        body_burst: float = BODY_BURST,
    ) -> None:
        self._patience = patience
        self._rate = rate
        self._files = Shares(spooled)
        self._disk = Pace(spool_rate, burst=0, patience=PACE_PATIENCE)
        self._callers = Pace(body_rate, burst=body_burst, patience=PACE_PATIENCE)
        self._refused = Pace(body_rate, burst=body_burst, patience=PACE_PATIENCE)

    async def read(
        self, receive: ASGIReceiveCallable, *, limit: int, caller: Caller, check: Check | None = None
    ) -> "Body":
        """Return the whole body, at its beginning; whoever gets it closes it.

        As soon as it turns out to be large, `check` may raise what the call is refused with whatever its body is.
        """
        body = Body(self._files, caller)
        try:
            await self._fill(body, receive, limit, check)
        except BaseException:
            body.close()
            raise
        return body

    async def discard(self, receive: ASGIReceiveCallable) -> None:
        """Read a little more of a refused body: all of them together no faster than those of one caller.

        Closing with bytes unread resets the connection, and the caller loses the answer.
        """
        left = LINGER_BYTES
        with suppress(TimeoutError, Busy):
            async with asyncio.timeout(LINGER_SECONDS):
                while left > 0:
                    message = await receive()
                    if message["type"] != "http.request" or not message.get("more_body", False):
                        return
                    left -= len(message.get("body", b""))
                    await self._refused.rest("", len(message.get("body", b"")))

    async def _fill(self, body: "Body", receive: ASGIReceiveCallable, limit: int, check: Check | None) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        more = True
        while more:
            deadline = began + min(self._patience + body.size / self._rate, LONGEST_BODY)
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                raise BodyStalled from None
            if message["type"] != "http.request":
                raise HungUp
            chunk = message.get("body", b"")
            if body.size + len(chunk) > limit:
                raise TooLarge(limit)
            if check is not None and body.size + len(chunk) > MEMORY_PER_BODY:
                asked_at = loop.time()
                await check()
                began, check = began + loop.time() - asked_at, None
            if chunk and (spooled := body.add(chunk)):
                began += await self._disk.rest("", spooled)
                began += await self._callers.rest(body.caller.payer, spooled)
            more = message.get("more_body", False)
        body.file.seek(0)


class Body:
    def __init__(self, files: Shares, caller: Caller) -> None:
        self.file: IO[bytes] = io.BytesIO()
        self.size = 0
        self.is_taken = False
        self.caller = caller
        self._files = files
        self._spooled = 0

    def add(self, chunk: bytes) -> int:
        """Return how many bytes went to the disk."""
        size, spooled = self.size + len(chunk), 0
        if size > MEMORY_PER_BODY:
            spooled = size - self._spooled
            self._take(spooled)
        self.file.write(chunk)
        self.size = size
        return spooled

    def close(self) -> None:
        self.file.close()
        if self._spooled:
            self._files.give_back(self.caller, self._spooled)
            self._spooled = 0

    def _take(self, amount: int) -> None:
        """Take a share of the files; the first time, move into one."""
        if not self._files.take(self.caller, amount):
            raise Busy
        if not self._spooled:
            file = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the body)
            file.write(self.file.getvalue())  # type: ignore[attr-defined]
            self.file = file
        self._spooled += amount
