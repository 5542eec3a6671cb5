"""While somebody watches, look four times a second whether something happened, and send every socket what changed.

One broadcaster per web process, and none of its tasks is left when the last socket has gone. All reads are done in its
three threads. A socket that is slow delays nobody: its queue has room for one message, and when a second one comes
before the first was taken, both are dropped and the next thing it gets is a fresh snapshot.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from time import monotonic
from typing import TypeVar

import structlog
from django.db import connections
from django.utils import timezone

from config.common.background.supervision import FailureBackoff
from config.common.errors import DatabaseAway
from config.common.web.failures import find_failure
from config.dashboard.live.admission import Audience, Ticket, admit
from config.dashboard.live.doors import read_fleet
from config.dashboard.live.frames import compare, delta, heartbeat, snapshot, touched, watching
from config.dashboard.live.own_processes import read_queues
from config.dashboard.live.page_state import LONGEST_SECONDS, Beside, PageState, Parts, read_state
from config.dashboard.live.watched_rows import Marks, Watch, read_marks
from config.runtime.health import engine_states

BEAT_SECONDS = 0.25
CHECK_SECONDS = 45.0
HEARTBEAT_SECONDS = 5.0
"""How often a socket is told that what it shows still holds; a page that hears nothing for twice as long says so."""
LOOK_SECONDS = 1.0
"""How often the rows are looked at that lists and pages watch."""
FAILED, CHANGED, REFUSED = 1011, 1012, 4403
"""Why a socket is closed: a fault of ours; its rights have changed, it may come again; it may not."""

log = structlog.get_logger(__name__)
T = TypeVar("T")


class Closed(Exception):
    """The socket is to be closed."""

    def __init__(self, code: int) -> None:
        self.code = code


class SocketQueue:
    """The message that waits for one socket, or that the socket has fallen behind and needs a snapshot."""

    def __init__(self, ticket: Ticket, audience: Audience, watch: Watch | None = None) -> None:
        self.ticket, self.audience, self.watch = ticket, audience, watch
        self.marks: Marks | None = None
        """Of the rows it watches, as they were when it was last told of them."""
        self.checked_at = monotonic()
        self._text: str | None = None
        self._is_behind = True
        self._is_news = False
        self._code: int | None = None
        self._ready = asyncio.Event()

    def offer(self, text: str) -> None:
        """Queue a message; if one still waits, a snapshot takes the place of both."""
        self._is_behind = self._is_behind or (self._is_news and self._text is not None)
        self._text, self._is_news = None if self._is_behind else text, True
        self.wake()

    def offer_heartbeat(self, text: str) -> None:
        """Queue a sign of life, unless there is news, which is one too."""
        if self._text is None and not self._is_behind:
            self._text, self._is_news = text, False
            self.wake()

    def close(self, code: int) -> None:
        self._code = code
        self.wake()

    def wake(self) -> None:
        self._ready.set()

    async def take(self, broadcaster: "Broadcaster") -> str:
        """Wait for the next message; raise `Closed` if it is the last."""
        while True:
            await self._ready.wait()
            self._ready.clear()
            if self._code is not None:
                raise Closed(self._code)
            text = self._whole(broadcaster) if self._is_behind else self._text
            if text is not None:
                self._is_behind, self._text = False, None
                return text

    def _whole(self, broadcaster: "Broadcaster") -> str | None:
        """Return what a socket needs that has missed something; a page that watches rows fetches itself anew."""
        if self.watch is None:
            return broadcaster.snapshot(self.audience)
        # Not before its rows are known: what changes after the page has fetched itself must be seen as a change.
        return None if self.marks is None else watching(self.audience, at=timezone.now())


class Broadcaster:
    def __init__(self) -> None:
        self._queues: set[SocketQueue] = set()
        self._task: asyncio.Task[None] | None = None
        self._threads = ThreadPoolExecutor(3, "live")
        self._backoff = FailureBackoff("live")
        self._clear()

    @property
    def is_running(self) -> bool:
        return self._task is not None

    @property
    def _has_viewers(self) -> bool:
        """Whether anybody has the start page open: who watches rows is sent nothing else."""
        return any(queue.watch is None for queue in self._queues)

    def latest_parts(self) -> Parts | None:
        """Return what the start page shows now; None while nobody watches it, or it is too old to be shown anew."""
        state = self._state
        return state.parts if state is not None and monotonic() - state.read_at < 2 * LONGEST_SECONDS else None

    def subscribe(self, queue: SocketQueue) -> None:
        self._queues.add(queue)
        queue.wake()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())

    def unsubscribe(self, queue: SocketQueue) -> None:
        self._queues.discard(queue)
        if not self._queues and self._task is not None:
            self._task.cancel()
            self._task = None
            self._clear()

    def snapshot(self, audience: Audience) -> str | None:
        """Return everything that this audience may see, made once for all of them; nothing before the first beat."""
        if self._state is None:
            return None
        if audience not in self._snapshots:
            self._snapshots[audience] = snapshot(self._state.parts, audience, at=timezone.now())
        return self._snapshots[audience]

    async def in_thread(self, read: Callable[..., T], *arguments: object) -> T:
        """Run a read in a thread that gives its connection back."""

        def run() -> T:
            try:
                return read(*arguments)
            finally:
                connections.close_all()

        return await asyncio.get_running_loop().run_in_executor(self._threads, run)

    def _clear(self) -> None:
        self._state: PageState | None = None
        self._snapshots: dict[Audience, str] = {}
        self._beside = Beside()
        self._is_away = False
        self._said_at = monotonic()
        self._looked_at = 0.0

    async def _run(self) -> None:
        """Beat until cancelled; after a fault that is no outage every socket is closed, and may come again."""
        began = monotonic()
        try:
            self._beside = Beside(engines=await self.in_thread(engine_states))
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._watch_engines())
                tasks.create_task(self._watch_fleet())
                tasks.create_task(self._beat())
        except Exception as error:  # noqa: BLE001 (nobody awaits this task: the pages would wait for ever)
            self._backoff.note(error, lived=monotonic() - began)
            self._task = None
            self._clear()
            for queue in self._queues:
                queue.close(FAILED)
            await asyncio.to_thread(self._backoff.report, error)

    async def _watch_engines(self) -> None:
        """Read the engines beside the beat: one that hangs takes a second to be called down."""
        while True:
            await asyncio.sleep(LONGEST_SECONDS)
            if self._has_viewers:
                engines, queues = await self.in_thread(lambda: (engine_states(), read_queues()))
                self._beside = replace(self._beside, engines=engines, queues=queues)
            else:  # nobody is shown what was read before the last viewer left
                self._beside = replace(self._beside, engines={}, queues=None)

    async def _watch_fleet(self) -> None:
        """Count the fleet beside the beat, the more seldom the longer it takes."""
        while True:
            pause = LONGEST_SECONDS
            try:
                if self._has_viewers:
                    fleet = await self.in_thread(read_fleet)
                    self._beside, pause = replace(self._beside, fleet=fleet), fleet.pause
                else:
                    self._beside = replace(self._beside, fleet=None)
            except Exception as error:
                if not _is_outage(error):
                    raise
            await asyncio.sleep(pause)

    async def _beat(self) -> None:
        while True:
            try:
                await self._check()
                await self._read()
                await self._look_at_rows()
            except Exception as error:
                if not _is_outage(error):
                    raise
                self._note_outage(error)
            else:
                self._note_return()
                self._send_heartbeat()
            await asyncio.sleep(BEAT_SECONDS)

    async def _check(self) -> None:
        """Close the sockets whose session has ended or whose rights have changed."""
        began = monotonic()
        due = [queue for queue in self._queues if began - queue.checked_at >= CHECK_SECONDS]
        if not due:
            return
        audiences = await self.in_thread(lambda: [admit(queue.ticket) for queue in due])
        for queue, audience in zip(due, audiences, strict=True):
            queue.checked_at = began
            if audience != queue.audience:
                queue.close(REFUSED if audience is None else CHANGED)

    async def _look_at_rows(self) -> None:
        """Tell each socket which of the rows that it watches have changed."""
        began = monotonic()
        watchers = [queue for queue in self._queues if queue.watch is not None]
        is_first = any(queue.marks is None for queue in watchers)
        if not watchers or (not is_first and began - self._looked_at < LOOK_SECONDS):
            return
        self._looked_at = began
        marks = await self.in_thread(lambda: read_marks([queue.watch for queue in watchers if queue.watch]))
        at = timezone.now()
        for queue in watchers:
            assert queue.watch is not None
            mine = marks[queue.watch]
            before, queue.marks = queue.marks, mine
            if before is None:
                queue.wake()
            elif changed := [row for row in mine if mine[row] != before.get(row)]:
                queue.offer(touched(changed, at=at))

    async def _read(self) -> None:
        if not self._has_viewers:
            self._state = None
            return
        last, beside = self._state, self._beside
        read = await self.in_thread(lambda: read_state(last, now=monotonic(), beside=beside))
        facts = read or last
        assert facts is not None
        self._state = replace(facts, parts=replace(facts.parts, engines=beside.engines))
        if last is None:
            for queue in self._queues:
                queue.wake()
        else:
            self._broadcast(compare(last.parts, self._state.parts))

    def _broadcast(self, changes: Parts) -> None:
        at = timezone.now()
        self._snapshots.clear()
        viewers = [queue for queue in self._queues if queue.watch is None]
        texts = {audience: delta(changes, audience, at=at) for audience in {queue.audience for queue in viewers}}
        for queue in viewers:
            text = texts[queue.audience]
            if text is not None:
                queue.offer(text)

    def _send_heartbeat(self) -> None:
        """Send a heartbeat now and then: only after a read, so never while the database is away."""
        if monotonic() - self._said_at >= HEARTBEAT_SECONDS:
            self._said_at = monotonic()
            text = heartbeat(at=timezone.now())
            for queue in self._queues:
                queue.offer_heartbeat(text)

    def _note_outage(self, error: Exception) -> None:
        if not self._is_away:
            log.warning("live.database_away", error=str(error))
        self._is_away = True

    def _note_return(self) -> None:
        if self._is_away:
            log.info("live.database_back")
        self._is_away = False


def _is_outage(error: Exception) -> bool:
    failure = find_failure(error)
    return failure is not None and failure.code == DatabaseAway.code


broadcaster = Broadcaster()
