"""The sender of a process: one asyncio loop whose slots are refilled one by one, as attempts end.

The scheduled work only wakes the sender, which runs in a thread of its own for as long as the process lives. Two more
threads do its database work side by side: one claims as much as there is room for, one records what has ended. A slow
receiver takes no slot from the others: an attempt that has waited for `SLOW_SECONDS` no longer counts, because waiting
costs no more than a socket.
"""

import asyncio
import resource
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connections
from django.utils import timezone

from config.common.background.per_process import PerProcess
from config.common.background.supervision import SupervisedThread, supervise
from config.common.database.batches import DatabaseUnavailable
from config.common.database.leases import lease_clock
from notifications.sending.claims import LEASE, Claim, Claimer, is_claim_current
from notifications.sending.outcomes import Outcome, drain_outcomes
from notifications.sending.transport import HttpSessions, open_http_sessions, send
from notifications.sending.webhook import Answer, ClaimLapsed

GATHER_SECONDS = 0.01
"""How long ended attempts wait for others, to be recorded together."""
SLOW_SECONDS = 0.25
SLOW_SLOTS = 10
"""The attempts under way, slow ones included, as a multiple of the slots."""
AHEAD = 2
"""Claimed ahead, as a multiple of the slots: a tenth of a second's work, so that the loop never waits for a claim."""
DOUBT_SECONDS = 5.0
"""A claim that has waited longer, far longer than in a busy sender, is checked in the database before it is sent."""
SOCKETS = 16_384
DATABASE_PAUSE = 1.0

log = structlog.get_logger(__name__)

ResultT = TypeVar("ResultT")


def wake_sender() -> None:
    """Wake the sender of this process; a fork has its own."""
    _sender.get().wake()


def stop_sender(grace: float) -> None:
    """Wait up to `grace` seconds for the attempts that this process has under way."""
    sender = _sender.take()
    if sender is not None:
        sender.stop(grace)


@dataclass(frozen=True, slots=True)
class HeldClaim:
    """A claim, and the time by `lease_clock` just before it was made."""

    claim: Claim
    claimed_at: float


class Sender:
    def __init__(self, slots: int | None = None) -> None:
        self._slots = slots or settings.DELIVERY_SLOTS
        self._claimer = Claimer()
        self._thread = SupervisedThread("sender", self._run)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()
        self._stopping = False
        self._next = deque[HeldClaim]()
        # Kept outside of the loop, which may fail: an outcome that is not recorded would be sent again.
        self._ended = list[Outcome]()

    def wake(self) -> None:
        """Look for due deliveries; the first call starts the thread."""
        with self._lock:
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._due.set)
            elif not self._stopping:
                self._thread.start()

    def stop(self, grace: float) -> None:
        """Claim nothing more, and wait up to `grace` seconds for the attempts under way."""
        self._stopping = True
        self._thread.stop()
        self.wake()
        self._thread.join(grace)

    def _run(self) -> None:
        _allow_many_sockets()
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        self._due, self._news = asyncio.Event(), asyncio.Event()
        self._due.set()
        self._tasks = dict[asyncio.Task[None], float]()
        sessions = open_http_sessions()
        self._asking = ThreadPoolExecutor(1, "sender-asks")
        with self._lock:
            self._loop = asyncio.get_running_loop()
        try:
            async with asyncio.TaskGroup() as both:
                # Supervised apart: a claim that fails must not cancel the attempts under way, nor their recording.
                both.create_task(supervise("sender-claims", partial(self._keep_claiming, sessions)))
                both.create_task(supervise("sender-records", self._keep_recording))
        finally:
            with self._lock:
                self._loop = None
            self._asking.submit(connections.close_all)
            self._asking.shutdown(wait=False)
            await sessions.close()

    async def _keep_claiming(self, sessions: HttpSessions) -> None:
        """Fill the free slots whenever something may be due."""
        with ThreadPoolExecutor(1, "sender-claims") as database:
            while not self._stopping:
                await self._fill(sessions, database)
                await self._due.wait()
            database.submit(connections.close_all)
        self._news.set()

    async def _fill(self, sessions: HttpSessions, database: ThreadPoolExecutor) -> None:
        """Claim for the free slots, and ahead for those that will be free when the claim is back."""
        self._start_next(sessions)
        room = self._count_free() + AHEAD * self._slots - len(self._next)
        if room < self._slots and self._tasks:
            await self._wait_for_room()
            return
        self._due.clear()
        claimed_at = lease_clock()
        claims = await self._in(database, partial(self._claimer.claim, room)) or []
        self._next.extend(HeldClaim(claim, claimed_at) for claim in claims)
        self._start_next(sessions)
        if len(claims) == room:  # there may be more
            self._due.set()

    def _start_next(self, sessions: HttpSessions) -> None:
        for _ in range(min(len(self._next), self._count_free())):
            task = asyncio.create_task(self._attempt(sessions, self._next.popleft()))
            self._tasks[task] = time.monotonic()

    def _count_free(self) -> int:
        now = time.monotonic()
        quick = sum(now - began < SLOW_SECONDS for began in self._tasks.values())
        return min(self._slots - quick, self._slots * SLOW_SLOTS - len(self._tasks))

    async def _wait_for_room(self) -> None:
        """Wait until an attempt ends, or those under way count as slow."""
        await asyncio.wait(list(self._tasks), timeout=SLOW_SECONDS, return_when=asyncio.FIRST_COMPLETED)

    async def _attempt(self, sessions: HttpSessions, held: HeldClaim) -> None:
        try:
            outcome = await self._send(sessions, held)
        except ClaimLapsed:
            # No outcome: the row is due again by itself, or another sender has claimed it.
            log.warning("sender.claim_lapsed", delivery=held.claim.id, fence=held.claim.fence)
            outcome = None
        if outcome is not None:
            self._ended.append(outcome)
        self._news.set()
        del self._tasks[asyncio.current_task()]  # type: ignore[arg-type]
        if self._next:
            self._start_next(sessions)

    async def _send(self, sessions: HttpSessions, held: HeldClaim) -> Outcome:
        """Send within the lease: after its end a newer delivery may be under way, and the order would be reversed."""
        claim, at, began = held.claim, timezone.now(), time.monotonic()
        if lease_clock() - held.claimed_at >= DOUBT_SECONDS and not await self._is_current(claim):
            raise ClaimLapsed
        try:
            answer = await send(sessions, claim, until=held.claimed_at + LEASE.total_seconds())
        except ClaimLapsed:
            raise
        except Exception as error:  # noqa: BLE001  (whatever it is, the row must not wait for its lease)
            log.exception("sender.attempt", delivery=claim.id)
            answer = Answer(None, int((time.monotonic() - began) * 1000), "", repr(error), None)
        return Outcome(claim, at, answer)

    async def _is_current(self, claim: Claim) -> bool:
        """Check in the database a claim that has waited long; if the database is away it is not sent."""
        return bool(await self._in(self._asking, partial(is_claim_current, claim)))

    async def _keep_recording(self) -> None:
        """Record ended attempts, a few at a time; their endpoints have room again then."""
        with ThreadPoolExecutor(1, "sender-records") as database:
            while not self._stopping or self._next or self._tasks or self._ended:
                await self._news.wait()
                await asyncio.sleep(GATHER_SECONDS)
                self._news.clear()
                await self._record(database)
                self._due.set()
            database.submit(connections.close_all)

    async def _record(self, database: ThreadPoolExecutor) -> None:
        # Attempts that end meanwhile go to a new list; what cannot be written is put back before them.
        ended, self._ended = self._ended, []
        try:
            if ended:
                await self._in(database, partial(drain_outcomes, ended))
        finally:
            if ended:  # what could not be written yet
                self._ended = ended + self._ended
                self._news.set()

    async def _in(self, database: ThreadPoolExecutor, work: Callable[[], ResultT]) -> ResultT | None:
        """Run this in a database thread; if the database is away, pause and return None."""
        try:
            return await asyncio.get_running_loop().run_in_executor(database, _close_broken_connection, work)
        except (DatabaseError, InterfaceError, DatabaseUnavailable) as error:
            log.warning("sender.database", error=repr(error))
            await asyncio.sleep(DATABASE_PAUSE)
            self._due.set()
            return None


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return the maker of the fast loop of the web server, if it is installed."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def _allow_many_sockets() -> None:
    """Raise the limit of open files: each slow receiver holds a socket, each quick one keeps one alive for a moment."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    enough = SOCKETS if hard == resource.RLIM_INFINITY else min(SOCKETS, hard)
    if soft != resource.RLIM_INFINITY and soft < enough:
        resource.setrlimit(resource.RLIMIT_NOFILE, (enough, hard))


def _close_broken_connection(work: Callable[[], ResultT]) -> ResultT:
    """Close the connections of this thread after an error: the next call opens them anew."""
    try:
        return work()
    except (DatabaseError, InterfaceError, DatabaseUnavailable):
        connections.close_all()
        raise


_sender = PerProcess(Sender)
