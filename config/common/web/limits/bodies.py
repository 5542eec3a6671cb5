"""Bodies are read to their end before a call gets a slot: however slowly one comes, it holds nothing but itself."""

import asyncio
import io
import tempfile
from typing import IO

from asgiref.typing import ASGIReceiveCallable

from config.common.errors import TooLarge
from config.common.web.limits.errors import BodyStalled, Busy
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
    ) -> None:
        self._patience = patience
        self._rate = rate
        self._files = Shares(spooled)
        self._spool_rate = spool_rate
        self._next_write_at = 0.0

    async def read(self, receive: ASGIReceiveCallable, *, limit: int, caller: Caller) -> "Body":
        """Return the whole body, at its beginning; whoever gets it closes it."""
        body = Body(self._files, caller)
        try:
            await self._fill(body, receive, limit)
        except BaseException:
            body.close()
            raise
        return body

    async def _fill(self, body: "Body", receive: ASGIReceiveCallable, limit: int) -> None:
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
            if chunk and (spooled := body.add(chunk)):
                began += await self._rest(spooled)
            more = message.get("more_body", False)
        body.file.seek(0)

    async def _rest(self, spooled: int) -> float:
        """Wait until the disk has had its rest after so many bytes; return for how long, which is not the caller's."""
        now = asyncio.get_running_loop().time()
        self._next_write_at = max(now, self._next_write_at) + spooled / self._spool_rate
        await asyncio.sleep(self._next_write_at - now)
        return self._next_write_at - now


class Body:
    def __init__(self, files: Shares, caller: Caller) -> None:
        self.file: IO[bytes] = io.BytesIO()
        self.size = 0
        self.is_taken = False
        self._files, self._caller = files, caller
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
            self._files.give_back(self._caller, self._spooled)
            self._spooled = 0

    def _take(self, amount: int) -> None:
        """Take a share of the files; the first time, move into one."""
        if not self._files.take(self._caller, amount):
            raise Busy
        if not self._spooled:
            file = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the body)
            file.write(self.file.getvalue())  # type: ignore[attr-defined]
            self.file = file
        self._spooled += amount
