"""The sender of a process: one asyncio loop that is refilled as slots free up, never gather-then-claim.

The work that rings wake only pokes the sender, which runs in a thread of its own for as long as the process lives. Two
more threads do its database work side by side: one claims as much as there is room for, one writes what has ended. A
slow receiver holds its own slots and nobody else's: an attempt that has waited for a while no longer counts, because
waiting costs no more than a socket.
"""

import asyncio
import os
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

from config.common.background.supervision import SupervisedThread, supervise
from config.common.database.batches import DatabaseUnavailable
from config.common.database.leases import lease_clock
from notifications.sending.claims import LEASE, Claim, Claimer, is_claim_current
from notifications.sending.outcomes import Outcome, drain_outcomes
from notifications.sending.transport import HttpSessions, open_http_sessions, send
from notifications.sending.webhook import Answer, ClaimLapsed

GATHER_SECONDS = 0.01
"""How long ended attempts wait for others, so that they are written together."""
SLOW_SECONDS = 0.25
SLOW_SLOTS = 10
"""Attempts that wait for longer are slow; so many times the slots may be under way with them."""
AHEAD = 2
"""So many times the slots are claimed ahead, about a tenth of a second's work: the loop must not wait for a claim."""
DOUBT_SECONDS = 5.0
"""A claim that has waited for longer is asked about before it is sent: far more than a busy sender keeps one for."""
SOCKETS = 16_384
DATABASE_PAUSE = 1.0

log = structlog.get_logger(__name__)

ResultT = TypeVar("ResultT")


def wake_sender() -> None:
    """Wake the sender of this process; a fork has its own."""
    _senders.setdefault(os.getpid(), Sender()).poke()


def stop_sender(grace: float) -> None:
    """Let what the sender of this process has under way end before the process does."""
    sender = _senders.pop(os.getpid(), None)
    if sender is not None:
        sender.stop(grace)


@dataclass(frozen=True, slots=True)
class HeldClaim:
    """A claim, and the time by `lease_clock` at which it was about to be made."""

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
        # What has ended outlives a failure of the loop: unrecorded, it would be sent again.
        self._ended = list[Outcome]()

    def poke(self) -> None:
        """Say that something may be due; start the thread with the first call."""
        with self._lock:
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._due.set)
            elif not self._stopping:
                self._thread.start()

    def stop(self, grace: float) -> None:
        """Claim nothing more, let what is under way end, and wait for it that long."""
        self._stopping = True
        self._thread.stop()
        self.poke()
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
                # One by one: a claim that fails must not cut off the attempts under way, nor their recording.
                both.create_task(supervise("sender-claims", partial(self._keep_claiming, sessions)))
                both.create_task(supervise("sender-records", self._keep_recording))
        finally:
            with self._lock:
                self._loop = None
            self._asking.submit(connections.close_all)
            self._asking.shutdown(wait=False)
            await sessions.close()

    async def _keep_claiming(self, sessions: HttpSessions) -> None:
        """Fill the free slots whenever something may be due; a full claim says that there may be more."""
        with ThreadPoolExecutor(1, "sender-claims") as database:
            while not self._stopping:
                await self._fill(sessions, database)
                await self._due.wait()
            database.submit(connections.close_all)
        self._news.set()

    async def _fill(self, sessions: HttpSessions, database: ThreadPoolExecutor) -> None:
        """Claim for the free slots, and a few for those that will be free by the time the claim is back."""
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
        if len(claims) == room:
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
        """Wait until an attempt ends, or until those under way count as slow."""
        await asyncio.wait(list(self._tasks), timeout=SLOW_SECONDS, return_when=asyncio.FIRST_COMPLETED)

    async def _attempt(self, sessions: HttpSessions, held: HeldClaim) -> None:
        try:
            outcome = await self._send(sessions, held)
        except ClaimLapsed:
            # Uncounted among the outcomes: the row is due again by itself, or somebody else's.
            log.warning("sender.claim_lapsed", delivery=held.claim.id, fence=held.claim.fence)
            outcome = None
        if outcome is not None:
            self._ended.append(outcome)
        self._news.set()
        del self._tasks[asyncio.current_task()]  # type: ignore[arg-type]
        if self._next:
            self._start_next(sessions)

    async def _send(self, sessions: HttpSessions, held: HeldClaim) -> Outcome:
        """Send under the lease alone: after its end a newer message may be on its way, and order would be reversed."""
        claim, at, began = held.claim, timezone.now(), time.monotonic()
        if lease_clock() - held.claimed_at >= DOUBT_SECONDS and not await self._still_stands(claim):
            raise ClaimLapsed
        try:
            answer = await send(sessions, claim, until=held.claimed_at + LEASE.total_seconds())
        except ClaimLapsed:
            raise
        except Exception as error:  # noqa: BLE001  (whatever it is, the row must not wait for its lease)
            log.exception("sender.attempt", delivery=claim.id)
            answer = Answer(None, int((time.monotonic() - began) * 1000), "", repr(error), None)
        return Outcome(claim, at, answer)

    async def _still_stands(self, claim: Claim) -> bool:
        """Ask the database about a claim that has waited for long; one that cannot be asked about is not sent."""
        return bool(await self._in(self._asking, partial(is_claim_current, claim)))

    async def _keep_recording(self) -> None:
        """Write what has ended, a few at a time; then its endpoints have room again."""
        with ThreadPoolExecutor(1, "sender-records") as database:
            while not self._stopping or self._next or self._tasks or self._ended:
                await self._news.wait()
                await asyncio.sleep(GATHER_SECONDS)
                self._news.clear()
                await self._record(database)
                self._due.set()
            database.submit(connections.close_all)

    async def _record(self, database: ThreadPoolExecutor) -> None:
        ended, self._ended = self._ended, []
        try:
            if ended:
                await self._in(database, partial(drain_outcomes, ended))
        finally:
            if ended:  # what could not be written yet
                self._ended = ended + self._ended
                self._news.set()

    async def _in(self, database: ThreadPoolExecutor, work: Callable[[], ResultT]) -> ResultT | None:
        """Do this in a database thread; when the database is away pause, and return nothing."""
        try:
            return await asyncio.get_running_loop().run_in_executor(database, _keep_connection_fresh, work)
        except (DatabaseError, InterfaceError, DatabaseUnavailable) as error:
            log.warning("sender.database", error=repr(error))
            await asyncio.sleep(DATABASE_PAUSE)
            self._due.set()
            return None


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The fast loop that the web server runs on, where there is one."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def _allow_many_sockets() -> None:
    """A socket waits for each slow receiver, and one is kept for a moment for each quick one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    enough = SOCKETS if hard == resource.RLIM_INFINITY else min(SOCKETS, hard)
    if soft != resource.RLIM_INFINITY and soft < enough:
        resource.setrlimit(resource.RLIMIT_NOFILE, (enough, hard))


def _keep_connection_fresh(work: Callable[[], ResultT]) -> ResultT:
    """A connection that broke is opened anew by the next turn."""
    try:
        return work()
    except (DatabaseError, InterfaceError, DatabaseUnavailable):
        connections.close_all()
        raise


_senders: dict[int, Sender] = {}
