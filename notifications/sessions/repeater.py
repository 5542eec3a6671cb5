"""The repeater of a process: the scheduler's turns, a few worker threads, and a keeper thread that writes for them.

A turn finds the nearest time and claims as many sessions as there are free workers. While repeats are quick it claims
ahead, so that many are claimed and recorded by a few statements; one that has waited a second for a worker is given
back. The keeper records outcomes, renews leases and abandons handlers that are silent for longer than their theme's
timeout: such a thread is replaced, and the fence voids what it may still write. A slow repeat is set aside, so that the
workers are free for others; `ThemeSlots` bounds how many a theme may have.
"""

import threading
import time
from collections import deque
from collections.abc import Iterable
from functools import partial

import structlog
from django.conf import settings
from django.db import connections

from config.common.background.per_process import PerProcess
from config.common.background.supervision import SupervisedThread
from config.common.correlation import correlated
from config.common.database.leases import LeaseLost
from notifications.sessions.claims import (
    LEASE,
    Claim,
    NearestTimes,
    claim_due,
    find_nearest_by_theme,
    find_nearest_times,
)
from notifications.sessions.outcomes import Outcome, Result, record_or_bisect, record_outcomes, settle_lapsed_once
from notifications.sessions.storage import LOOK_SECONDS
from notifications.sessions.theme_health import close_idle_breaker
from notifications.sessions.workers import (
    SLOW_SECONDS,
    EndedRepeat,
    RunningRepeat,
    ThemeSlots,
    close_connections,
    release_connections,
)

AHEAD_SECONDS = 0.05
"""Claim ahead as much as the workers do in this time."""
MOST_AHEAD = 64
"""The sessions claimed ahead for each worker, at most."""
LONGEST_WAIT = 1.0
GATHER_SECONDS = 0.003
RENEW_SECONDS = LEASE.total_seconds() / 3
RETRY_SECONDS = 1.0
CONTENDED_SECONDS = 0.05
FULL_SECONDS = 0.5
"""How soon to look again while a theme has used up its slots: nothing announces a free one."""

log = structlog.get_logger(__name__)


def repeat_once() -> bool:
    """Start the repeats that are due; return whether there were any."""
    return _repeater.get().run_once()


def rest() -> float:
    return _repeater.get().rest()


def stop_repeating(grace: float) -> None:
    """Wait up to `grace` seconds for the repeats under way, then give the rest back."""
    repeater = _repeater.take()
    if repeater is not None:
        repeater.stop(grace)


class Repeater:
    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._lock = threading.Lock()
        self._has_work = threading.Condition(self._lock)
        self._has_room = threading.Condition(self._lock)
        self._waiting: deque[RunningRepeat] = deque()
        self._running: dict[int, RunningRepeat] = {}
        self._slots = ThemeSlots(workers)
        self._ended: list[EndedRepeat] = []
        self._threads = self._idle = 0
        self._keeper = SupervisedThread("sessions-keeper", self._record_and_renew)
        self._news = threading.Event()
        self._is_stopping = False
        self._pace = AHEAD_SECONDS
        self._low_water = 0
        """The turn that waits for room is notified when this many, or fewer, wait for a worker."""
        self._rest = 0.0

    def run_once(self) -> bool:
        """Settle lapsed sessions and claim due ones. An idle look is one query."""
        room = self._wait_for_room()
        if room == 0:
            return not self._is_stopping
        seen = find_nearest_times()
        found = seen.lapse is not None and seen.lapse <= 0 and settle_lapsed_once()
        with self._lock:
            is_full = bool(self._slots.full())
        if is_full or seen.is_any_open:
            seen, claims = self._claim_by_theme(room, seen.lapse)
        else:
            claims = claim_due(room) if seen.repeat is not None and seen.repeat <= 0 else []
        self._take(claims)
        nearest = LOOK_SECONDS if seen.nearest is None else seen.nearest
        # A session that is due and cannot be claimed is locked by somebody else: look again soon, but do not spin.
        self._rest = max(nearest + 0.001, CONTENDED_SECONDS if nearest <= 0 else 0.0)
        return found or bool(claims)

    def _claim_by_theme(self, room: int, lapse: float | None) -> tuple[NearestTimes, list[Claim]]:
        """Claim for each theme what its slots allow, so that a theme without free slots does not block the others."""
        claims, times, is_any_full = list[Claim](), list[float](), False
        for seen in find_nearest_by_theme():
            if seen.repeat is None:
                if seen.is_open:
                    close_idle_breaker(seen.number)
                continue
            with self._lock:
                free = self._slots.free(seen.number, is_open=seen.is_open)
            if not free:
                is_any_full = True
                continue
            times.append(seen.repeat)
            if seen.is_due and len(claims) < room:
                claims += claim_due(min(free, room - len(claims)), seen.number)
        times += [FULL_SECONDS] if is_any_full else []
        return NearestTimes(min(times, default=None), lapse), claims

    def rest(self) -> float:
        return self._rest

    def _wait_for_room(self) -> int:
        with self._lock:
            self._has_room.wait_for(lambda: self._is_stopping or self._room() > 0, timeout=1.0)
            return 0 if self._is_stopping else self._room()

    def _room(self) -> int:
        """Return how many to claim: one for each free worker; while repeats are quick many, once half are done."""
        in_hand = len(self._waiting) + len(self._running) - self._slots.slow + len(self._ended)
        ahead = self._workers * self._ahead()
        room = max(ahead - in_hand, 0)
        return room if ahead == self._workers or room * 2 >= ahead else 0

    def _ahead(self) -> int:
        now = time.monotonic()
        if any(now - each.touched > AHEAD_SECONDS for each in self._running.values() if not each.is_slow):
            return 1
        return max(1, min(MOST_AHEAD, int(AHEAD_SECONDS / max(self._pace, 1e-6))))

    def _take(self, claims: Iterable[Claim]) -> None:
        if self._is_stopping:  # the stop came while these were being claimed
            record_outcomes([Outcome(claim, Result.UNTRIED) for claim in claims])
            return
        with self._lock:
            self._waiting.extend(map(RunningRepeat, claims))
            self._low_water = len(self._waiting) // 2
            if self._waiting:
                self._keeper.start()
            while self._threads < self._workers and self._idle < len(self._waiting):
                self._start_worker()
            self._has_work.notify_all()
        self._news.set()

    def _start_worker(self) -> None:
        SupervisedThread("sessions-worker", self._work).start()
        self._threads += 1
        self._idle += 1

    def _work(self) -> None:
        while (repeat := self._next()) is not None:
            began = time.monotonic()
            try:
                with correlated(repeat.claim.row.correlation_id or None):
                    repeat.run(partial(self._settle, repeat))
            except BaseException as error:  # noqa: BLE001  (a handler that exits must not take a worker with it)
                self._settle(repeat, Outcome(repeat.claim, Result.FAILED, repr(error)), wait=False)
            finally:
                goes_on = self._free(repeat, time.monotonic() - began)
            release_connections()
            if not goes_on:
                break
        close_connections()

    def _next(self) -> RunningRepeat | None:
        if not self._waiting:
            close_connections()
        with self._lock:
            self._has_work.wait_for(lambda: self._is_stopping or self._find_startable() is not None)
            self._idle -= 1
            repeat = None if self._is_stopping else self._find_startable()
            if repeat is None:
                self._threads -= 1
                return None
            self._waiting.remove(repeat)
            self._slots.take(repeat.claim.theme)
            self._running[repeat.claim.row.pk] = repeat
            repeat.began = time.monotonic()
            return repeat

    def _find_startable(self) -> RunningRepeat | None:
        """Return the first waiting repeat whose theme has a slot."""
        return next((each for each in self._waiting if self._slots.has_room(each.claim.theme)), None)

    def _free(self, repeat: RunningRepeat, seconds: float) -> bool:
        """Note the end of a repeat; return whether its thread goes on. One that was abandoned has been replaced."""
        with self._lock:
            if not repeat.is_slow:
                self._pace += (seconds - self._pace) / 16  # a moving average
            if repeat.is_abandoned:
                return False
            self._drop(repeat)
            if not repeat.is_slow:
                self._idle += 1
            if self._is_stopping or len(self._waiting) <= self._low_water:
                self._has_room.notify_all()
            return not repeat.is_slow

    def _drop(self, repeat: RunningRepeat) -> None:
        """Remove a repeat from those under way; another of its theme may start."""
        if self._running.pop(repeat.claim.row.pk, None) is not None:
            self._slots.give_back(repeat.claim.theme, was_slow=repeat.is_slow)
            self._has_work.notify_all()

    def _settle(self, repeat: RunningRepeat, outcome: Outcome, *, wait: bool) -> bool:
        """Hand the outcome to the keeper, unless it has abandoned the repeat; return whether the claim stood."""
        ended = EndedRepeat(outcome)
        with self._lock:
            if repeat.is_settled:
                return False
            repeat.is_settled = True
            self._ended.append(ended)
        self._news.set()
        if not wait:
            return False
        ended.is_written.wait()
        return ended.stood

    def _record_and_renew(self) -> None:
        while not (self._is_stopping and self._is_empty()):
            self._news.wait(self._seconds_until_duty())
            self._news.clear()
            if self._ended and self._may_be_more():
                time.sleep(GATHER_SECONDS)
            try:
                self._record()
                self._renew()
            except Exception as error:  # noqa: BLE001  (the database away or not: the thread must live on)
                log.warning("sessions.keeper", error=repr(error))
                connections.close_all()
                time.sleep(RETRY_SECONDS)
                self._news.set()
            self._set_slow_aside()
            self._abandon_silent()
            self._give_back_waiting()
            if self._is_empty():
                connections.close_all()

    def _may_be_more(self) -> bool:
        """Return whether another repeat may end soon; a worker that waits for its outcome to be written starts none."""
        with self._lock:
            is_at_work = any(not each.is_settled for each in self._running.values())
            return is_at_work or bool(self._waiting and self._idle)

    def _is_empty(self) -> bool:
        with self._lock:
            return not (self._waiting or self._running or self._ended)

    def _seconds_until_duty(self) -> float:
        """Return the seconds until something must be renewed, abandoned, set aside or given back."""
        with self._lock:
            held = [each for each in self._running.values() if not each.is_settled]
            times = [min(each.renewed + RENEW_SECONDS, each.deadline) for each in held]
            times += [each.claimed + LONGEST_WAIT for each in self._waiting]
            if self._slots.may_set_aside and not self._is_stopping:
                times += [each.began + SLOW_SECONDS for each in held if not each.is_slow]
        return max(0.0, min(times, default=time.monotonic() + LOOK_SECONDS) - time.monotonic())

    def _record(self) -> None:
        """Record ended repeats; if that fails, the next round does."""
        with self._lock:
            outcomes = [each.outcome for each in self._ended]
        if not outcomes:
            return
        for part, stood in record_or_bisect(outcomes):
            with self._lock:
                written, self._ended = self._ended[: len(part)], self._ended[len(part) :]
                self._has_room.notify_all()
            for each in written:
                each.stood = each.outcome.claim.row.pk in stood
                each.is_written.set()

    def _renew(self) -> None:
        now = time.monotonic()
        with self._lock:
            running = [each for each in self._running.values() if not each.is_settled]
        for each in running:
            if now - each.renewed < RENEW_SECONDS:
                continue
            try:
                each.renew()
                each.renewed = now
            except LeaseLost:
                log.warning("session.lost", session=each.claim.row.pk)
                self._abandon(each, None)

    def _set_slow_aside(self) -> None:
        """Let slow repeats go on in their threads, and start a new worker in place of each."""
        since = time.monotonic() - SLOW_SECONDS
        with self._lock:
            for each in list(self._running.values()):
                if each.began > since or each.is_slow or self._is_stopping or not self._slots.may_set_aside:
                    continue
                each.is_slow = True
                self._slots.set_aside()
                self._threads -= 1
                self._start_worker()
                self._has_room.notify_all()

    def _abandon_silent(self) -> None:
        """Fail the repeats whose handlers have been silent for longer than the theme's timeout."""
        now = time.monotonic()
        with self._lock:
            silent = [each for each in self._running.values() if each.deadline <= now and not each.is_settled]
        for each in silent:
            detail = f"no operation within {each.claim.theme.timeout:g} s"
            self._abandon(each, Outcome(each.claim, Result.FAILED, detail, is_answer=False))

    def _abandon(self, repeat: RunningRepeat, outcome: Outcome | None) -> None:
        """Give up on a repeat: its thread ends when its handler does, and another takes its place."""
        with self._lock:
            if repeat.is_settled:
                return
            repeat.is_settled = repeat.is_abandoned = True
            self._drop(repeat)
            if outcome is not None:
                self._ended.append(EndedRepeat(outcome))
                self._news.set()
            if not self._is_stopping and not repeat.is_slow:
                self._threads -= 1
                self._start_worker()
            self._has_room.notify_all()
        log.warning("session.abandoned", session=repeat.claim.row.pk, theme=repeat.claim.theme.pk)
        _cancel([repeat])

    def _give_back_waiting(self) -> None:
        now = time.monotonic()
        with self._lock:
            while self._waiting and (self._is_stopping or now - self._waiting[0].claimed >= LONGEST_WAIT):
                late = self._waiting.popleft()
                self._ended.append(EndedRepeat(Outcome(late.claim, Result.UNTRIED)))
                self._news.set()

    def stop(self, grace: float) -> None:
        """Claim nothing more, cancel the handlers, wait, and save again what has not ended, uncounted."""
        deadline = time.monotonic() + grace
        with self._lock:
            self._is_stopping = True
            running = list(self._running.values())
            self._has_work.notify_all()
            self._has_room.notify_all()
        self._news.set()
        _cancel(running)
        with self._lock:
            self._has_room.wait_for(lambda: not self._running, timeout=grace * 2 / 3)
            left = list(self._running.values())
        for each in left:
            self._abandon(each, Outcome(each.claim, Result.STOPPED))
        self._news.set()
        self._keeper.join(max(0.0, deadline - time.monotonic()))


def _cancel(repeats: list[RunningRepeat]) -> None:
    """Cancel handlers in threads of their own: a handler may take long over it."""
    for repeat in repeats:
        threading.Thread(target=repeat.cancel, name="sessions-cancel", daemon=True).start()


_repeater = PerProcess(lambda: Repeater(settings.SESSION_WORKERS))
