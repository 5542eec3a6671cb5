"""Threads for calls: so many at once, and each caller has a share of them."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

from asgiref.sync import ThreadSensitiveContext

from config.common.web.limits.errors import Busy
from config.common.web.limits.processor import HEAVY_SLOTS, Processor
from config.common.web.limits.shares import Caller, Shares

SLOT_PATIENCE = 1.0
WAITING_PER_SLOT = 8


class Slots:
    """Let only so many calls into Django at once; a slot is the thread that all of a call's synchronous code runs in.

    The threads are kept and lent, so there cannot be more of them than slots, even while the callers of slow views
    hang up and others take their place. Who finds none, or has its share, waits for a moment. A slot that is given
    back goes to a known caller before a stranger, and to each of them in turn. Whoever takes a large part of the
    processor beside others has few at once.
    """

    def __init__(
        self,
        calls: int,
        *,
        name: str = "call",
        patience: float = SLOT_PATIENCE,
        each: int | None = None,
        processor: Processor | None = None,
    ) -> None:
        self._free = [ThreadPoolExecutor(1, f"{name}-{number}") for number in range(calls)]
        self._shares = Shares(calls, each=each)
        self._places = Shares(WAITING_PER_SLOT * calls)
        self._patience = patience
        self._processor = processor or Processor()
        # In the order of their turns: whoever got a slot goes to the end.
        self._waiting: dict[Caller, deque[asyncio.Future[ThreadPoolExecutor]]] = {}

    @asynccontextmanager
    async def lend(self, caller: Caller, *, ever: bool = False) -> AsyncIterator[None]:
        """Run the block with a thread; raise `Busy` where none comes free in time, unless it is to wait for `ever`."""
        thread = await self._take(caller, ever)
        try:
            async with ThreadSensitiveContext(executor=thread):
                yield
        finally:
            self._give_back(caller, thread)

    async def _take(self, caller: Caller, ever: bool) -> ThreadPoolExecutor:
        if caller not in self._waiting and self._may_have_one(caller):
            self._shares.take(caller)
            return self._free.pop()
        if ever:
            return await self._wait(caller, None)
        if not self._places.take(caller):
            raise Busy
        try:
            return await self._wait(caller, self._patience)
        except TimeoutError:
            raise Busy from None
        finally:
            self._places.give_back(caller)

    async def _wait(self, caller: Caller, patience: float | None) -> ThreadPoolExecutor:
        turn: asyncio.Future[ThreadPoolExecutor] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(caller, deque()).append(turn)
        async with asyncio.timeout(patience):
            try:
                return await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():
                    self._give_back(caller, turn.result())  # it came in the very moment of giving up
                else:
                    self._leave(caller, turn)
                raise

    def _leave(self, caller: Caller, turn: "asyncio.Future[ThreadPoolExecutor]") -> None:
        turns = self._waiting.get(caller)
        if turns is not None and turn in turns:
            turns.remove(turn)
            if not turns:
                del self._waiting[caller]

    def _give_back(self, caller: Caller, thread: ThreadPoolExecutor) -> None:
        self._shares.give_back(caller)
        self._free.append(thread)
        while self._waiting and (following := self._next()) is not None:
            turns = self._waiting.pop(following)
            turn = turns.popleft()
            if turns:
                self._waiting[following] = turns
            if not turn.done():  # else it has given up, and has not come to say so
                self._shares.take(following)
                turn.set_result(self._free.pop())

    def _next(self) -> Caller | None:
        able = (caller for caller in self._waiting if self._may_have_one(caller))
        return min(able, key=lambda caller: caller.standing, default=None)

    def _may_have_one(self, caller: Caller) -> bool:
        if self._shares.held_by(caller) >= HEAVY_SLOTS and self._processor.is_heavy(caller):
            return False
        return self._shares.fits(caller)
