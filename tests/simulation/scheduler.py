"""One thread runs at a time, and the seed decides at every side effect which one goes on.

A process of the simulation is a function in a thread of its own, with whatever threads it starts. Threads pass on a
baton: at a side effect (`point`), where they wait (`wait`), and where they end. Time passes only by what is done and,
when everybody waits, by going on to the next thing that is due.
"""

import _thread
import itertools
import math
import sys
import traceback
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from tests.simulation.nature import Nature, Place, Rolls

STEP_SECONDS = 0.004
"""The longest that one side effect takes."""
STOPPED_SECONDS = ((30.0, 40.0), (3.0, 75.0), (30.0, 40.0), (60.0, 70.0))
"""How long a stopped process stands still: most often until just after its lease, where it does the most harm."""
STEP_BACK, STEP_FORTH = -20.0, 45.0
RESTART_SECONDS = 2.0
STUCK_SECONDS = 60.0
"""Of the real clock: where nobody has passed the baton on for so long, a thread waits for something that the simulation
does not know of. A whole run may take longer on a busy machine."""

TOLD = {
    "cut": "CONNECTION LOST",
    "refuse": "COMMIT FAILS",
    "lie": "COMMIT SUCCEEDS, UNHEARD",
    "disk": "DISK FAILS",
    "broker": "CONNECTION TO THE BROKER LOST",
}

DEFECTS = (TypeError, AttributeError, NameError, AssertionError, LookupError)
"""No fault of the world outside makes a process end by one of these."""

Body = Callable[[], None]


class Killed(BaseException):
    """Stands for `kill -9`: nothing of the product catches it, and nothing takes effect behind it."""


class Stuck(Exception):
    """Nobody can go on: every thread waits for another."""


@dataclass
class Process:
    name: str
    body: Body
    is_mortal: bool
    pid: int
    node: "Node"
    points: int = 0
    lives: int = 0
    is_dead: bool = False
    stopped_at: float = 0.0
    stopped_until: float = 0.0
    memory: dict[Any, Any] = field(default_factory=dict)
    """The state of modules, which processes do not share."""
    at_death: list[Callable[[], None]] = field(default_factory=list)


@dataclass
class Node:
    """A machine and its clock."""

    name: str
    skew: float = 0.0


class Strand:
    """A thread, and what it waits for."""

    def __init__(self, process: Process, name: str) -> None:
        self.process, self.name = process, name
        self.is_ready: Callable[[], bool] | None = None
        self.wake_at = 0.0
        self.is_finished = False
        self.baton = _thread.allocate_lock()
        self.baton.acquire()


@dataclass(frozen=True)
class Entry:
    """A line of the story."""

    at: float
    who: str
    what: str
    detail: str = ""


@dataclass(frozen=True)
class Disturbance:
    """A fault that a process has met, and until when it lasted."""

    process: str
    kind: str
    at: float
    until: float


class Scheduler:
    def __init__(self, nature: Nature) -> None:
        self.nature = nature
        self.now = 0.0
        self.is_calm = False
        """Whether the faults are over."""
        self.story: list[Entry] = []
        self.faults: list[tuple[Place, str]] = []
        self.disturbances: list[Disturbance] = []
        self.switches: list[Place] = []
        self.error: BaseException | None = None
        self.machine = Node("machine")
        self._numbers = itertools.count(1)
        self._strands: list[Strand] = []
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._by_ident: dict[int, Strand] = {}
        self._passes = 0
        self.director = self._adopt_director()

    # --- what the test does -------------------------------------------------------------------------------------

    def start(self, name: str, body: Body, *, is_mortal: bool = True, node: Node | None = None) -> Process:
        """Start a process; one that dies or fails is started again after a while, as the supervisor does."""
        process = Process(name, body, is_mortal, next(self._numbers) + 10_000, node or self.machine)
        self._live(process)
        return process

    def let_run(self, until: Callable[[], bool], seconds: float) -> bool:
        """Let the others run until it holds or the time is over; return whether it holds."""
        self.wait(until, seconds)
        return until()

    def stop_all(self) -> None:
        """Kill everybody for good."""
        self.is_calm = True
        self._timers.clear()
        for strand in list(self._strands):
            if strand is not self.director:
                strand.process.is_dead = True
                strand.process.is_mortal = False
        self.wait(lambda: all(each.is_finished for each in self._strands if each is not self.director))

    def kill_all(self) -> None:
        """Kill everybody who can be killed: a power cut."""
        for process in {id(each.process): each.process for each in self._strands}.values():
            if process.is_mortal and not process.is_dead:
                self.kill(process)

    # --- what the patched borders call --------------------------------------------------------------------------

    def current(self) -> Strand | None:
        return self._by_ident.get(_thread.get_ident())

    def process(self) -> Process:
        strand = self.current()
        return self.director.process if strand is None else strand.process

    def point(self, what: str, detail: str = "", *, possible: Collection[str] = (), weight: float = 1.0) -> str | None:
        """Pass a side effect: somebody else may run before it, the process may die or be stopped.

        Return the fault that the caller is to apply, of those possible here; with a weight above one they come more
        often than elsewhere.
        """
        strand = self.current()
        if strand is None or strand is self.director:
            return None
        process = strand.process
        if process.is_dead:
            raise Killed
        process.points += 1
        place = (process.name, process.points)
        rolls = self.nature.roll(place)
        self.now += rolls.time * STEP_SECONDS
        self.tell(what, detail)
        fault = None
        if process.is_mortal and not self.is_calm:
            fault = self._meet_fault(strand, place, rolls, (*possible, "kill", "stop", "step"), weight)
        if rolls.switch < self.nature.switch and place not in self.nature.steady:
            self.switches.append(place)
            self._pass_on(strand, rolls.choice)
        return fault

    def wait(self, until: Callable[[], bool], seconds: float | None = None) -> None:
        """Let others run until it holds or the time is over."""
        strand = self.current()
        assert strand is not None
        if strand.process.is_dead:
            raise Killed
        strand.is_ready = until
        strand.wake_at = math.inf if seconds is None else self.now + max(0.0, seconds)
        self._pass_on(strand, self._roll_choice(strand))
        strand.is_ready = None

    def sleep(self, seconds: float) -> None:
        self.wait(lambda: False, seconds)

    def later(self, seconds: float, do: Callable[[], None]) -> None:
        """Have something of the outside world happen then."""
        self._timers.append((self.now + seconds, next(self._numbers), do))

    def chance(self, what: str) -> float:
        """Return a number between 0 and 1 for something that the outside world decides."""
        process = self.process()
        key = f"chance/{what}"
        process.memory[key] = number = process.memory.get(key, 0) + 1
        return self.nature.roll((f"{process.name}/{process.lives}/{what}", number)).choice

    def tell(self, what: str, detail: str = "") -> None:
        strand = self.current()
        self.story.append(Entry(self.now, "outside" if strand is None else strand.name, what, detail))

    def add_thread(self, name: str) -> Strand:
        """Make a thread of the current process one of the simulation; it begins with `enter` when it has the baton."""
        process = self.process()
        strand = Strand(process, f"{process.name}/{name}")
        self._strands.append(strand)
        return strand

    def enter(self, strand: Strand) -> None:
        self._by_ident[_thread.get_ident()] = strand
        self._take_baton(strand)

    def leave(self, strand: Strand) -> None:
        strand.is_finished = True
        self._strands.remove(strand)
        del self._by_ident[_thread.get_ident()]
        self._next(strand, self._roll_choice(strand)).baton.release()

    def kill(self, process: Process) -> None:
        process.is_dead = True
        for do in process.at_death:
            do()
        process.at_death.clear()
        if not self.is_calm or process.is_mortal:
            self.later(RESTART_SECONDS, lambda: self._live(process))

    # --- inside -------------------------------------------------------------------------------------------------

    def _adopt_director(self) -> Strand:
        strand = Strand(Process("test", lambda: None, False, 1, self.machine), "test")
        self._by_ident[_thread.get_ident()] = strand
        self._strands.append(strand)
        return strand

    def _live(self, process: Process) -> None:
        process.lives += 1
        process.pid += 100
        process.is_dead, process.stopped_until = False, 0.0
        process.memory = {}
        strand = Strand(process, process.name)
        self._strands.append(strand)
        _thread.start_new_thread(self._run, (strand,))

    def _run(self, strand: Strand) -> None:
        process = strand.process
        self._by_ident[_thread.get_ident()] = strand
        try:
            self._take_baton(strand)
            self.tell("starts" if process.lives == 1 else "starts again")
            process.body()
            self.tell("has done")
        except Killed:
            pass
        except BaseException as error:  # noqa: BLE001  (told by the test that waits for this thread)
            self.tell("fails", repr(error))
            self._fail(process, error)
        finally:
            self._close_connections()
            self.leave(strand)

    def _fail(self, process: Process, error: BaseException) -> None:
        """What fails is a process that ends: the supervisor starts it again."""
        if process.is_dead:
            return
        if not process.is_mortal or isinstance(error, DEFECTS):
            self.error = error
        else:
            self.kill(process)

    def _close_connections(self) -> None:
        from django.db import connections

        with suppress(Killed):
            connections.close_all()

    def _meet_fault(
        self, strand: Strand, place: Place, rolls: Rolls, possible: Collection[str], weight: float
    ) -> str | None:
        process = strand.process
        fault = self.nature.choose_fault(place, rolls, possible, weight)
        if fault is None:
            return None
        self.faults.append((place, fault))
        which, share = divmod(rolls.choice * len(STOPPED_SECONDS), 1)
        low, high = STOPPED_SECONDS[int(which)]
        seconds = low + (high - low) * share
        until = self.now + (seconds if fault == "stop" else 0.0)
        self.disturbances.append(Disturbance(process.name, fault, self.now, until))
        if fault == "kill":
            self.tell("DIES")
            self.kill(process)
            raise Killed
        if fault == "stop":
            process.stopped_at, process.stopped_until = self.now, until
            self.tell("IS STOPPED", f"for {seconds:.1f} s")
            self._pass_on(strand, rolls.choice)
            return None
        if fault == "step":
            seconds = STEP_BACK + (STEP_FORTH - STEP_BACK) * rolls.choice
            process.node.skew += seconds
            self.tell("CLOCK IS SET", f"by {seconds:+.1f} s, of {process.node.name}")
            return None
        self.tell(TOLD[fault])
        return fault

    def _roll_choice(self, strand: Strand) -> float:
        process = strand.process
        process.points += 1
        return self.nature.roll((process.name, process.points)).choice

    def _pass_on(self, strand: Strand, choice: float) -> None:
        chosen = self._next(strand, choice)
        if chosen is not strand:
            chosen.baton.release()
            self._take_baton(strand)
        elif strand.process.is_dead:
            raise Killed

    def _take_baton(self, strand: Strand) -> None:
        if strand is self.director:
            # Others may pass the baton among themselves for as long as they work; nobody may keep it for ever.
            passes = self._passes
            while not strand.baton.acquire(timeout=STUCK_SECONDS):
                if self._passes == passes:
                    raise Stuck(self._describe_stacks())
                passes = self._passes
        else:
            strand.baton.acquire()
        if strand.process.is_dead and strand is not self.director:
            raise Killed

    def _next(self, strand: Strand, choice: float) -> Strand:
        """Return whose turn it is; where all wait, go on in time to what is due first."""
        self._passes += 1
        while True:
            self._ring_timers()
            able = [each for each in self._strands if self._is_able(each)]
            dead = [each for each in able if each.process.is_dead]
            if dead:
                return dead[0]  # what has died has no more time
            if able:
                return able[int(choice * len(able))]
            at = min(
                [timer[0] for timer in self._timers]
                + [max(each.wake_at, each.process.stopped_until) for each in self._strands if not each.is_finished]
            )
            if math.isinf(at):
                self.error = Stuck(f"nobody can go on: {[each.name for each in self._strands]}")
                return self.director
            self.now = max(self.now, at)

    def _is_able(self, strand: Strand) -> bool:
        if strand.is_finished:
            return False
        if strand.process.is_dead:
            return True
        if strand.process.stopped_until > self.now:
            return False
        return strand.is_ready is None or strand.wake_at <= self.now or strand.is_ready()

    def _ring_timers(self) -> None:
        while due := [timer for timer in self._timers if timer[0] <= self.now]:
            first = min(due)
            self._timers.remove(first)
            first[2]()

    def _describe_stacks(self) -> str:
        frames = sys._current_frames()
        stacks = [
            f"{strand.name}\n{''.join(traceback.format_stack(frames[ident]))}"
            for ident, strand in self._by_ident.items()
            if ident in frames
        ]
        return "a thread waits for what the simulation does not know:\n" + "\n".join(stacks)
