"""Crash after every step of some file lifecycles, keep every subset of what was unsynced, recover, judge the rest."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from config.common.files import DRAFT
from tests.faults.file_lifecycles import BASE, RIGHT, Event, Layer, Life, Promises, begin, lead, recover
from tests.faults.simulated_disk import Disk, Renames, State, Step

PART, LOST, BACK, FOREIGN, FOLDER, STUCK = (
    "a final name stands for a part of a file",
    "a file is nowhere",
    "a file is where it must not be",
    "nobody knows this name",
    "a folder is lost",
    "recovery fails",
)
_PREFIX = f"{BASE}/"


class Survey:
    """What crashes of one layer left: how many states were looked at, and the bad ones by kind."""

    def __init__(self, layer: Layer = RIGHT, renames: Renames = Renames.TORN) -> None:
        self.layer, self.renames = layer, renames
        self.moments = self.states = self.recoveries = 0
        self.bad: Counter[str] = Counter()
        self._recovered: set[object] = set()

    def __str__(self) -> str:
        return (
            f"crash states of files: {self.states:,} at {self.moments:,} moments, "
            f"{self.recoveries:,} different recoveries, {self.bad.total():,} bad"
        )

    def crash(self, lives: Mapping[str, Life]) -> None:
        """Crash in every order in which the steps of these lives may happen, after each step."""
        disk = Disk(self.renames)
        promises = begin(lives, disk)
        told = [lead(name, life, self.layer, disk.copy()) for name, life in lives.items()]
        for moment, promised in moments(disk, promises, told):
            self._crash_at(moment, promised)
        self._recovered.clear()

    def kill(self, name: str, life: Life) -> None:
        """End the process after each step, without a crash; start it anew, and crash at every moment of that."""
        disk = Disk(self.renames)
        promises = begin({name: life}, disk)
        for event in lead(name, life, self.layer, disk.copy()):
            promises = event.happen(disk, promises)
            self._restart(disk.copy(), promises, copies=True)
        self._recovered.clear()

    def _crash_at(self, disk: Disk, promises: Promises) -> None:
        self.moments += 1
        for state in disk.states():
            self.states += 1
            if not self._is_good(state, promises):
                continue
            seen = _key(state, promises)
            if seen not in self._recovered:
                self._recovered.add(seen)
                self._restart(Disk.after(state, self.renames), promises)

    def _restart(self, disk: Disk, promises: Promises, *, copies: bool = False) -> None:
        """Recover, crash once more at each moment of that, and recover again."""
        settled = promises.settled(copies=copies)
        steps = self._recover(disk.copy(), promises, settled)
        for n, step in enumerate(steps, start=1):
            before = disk.condition()
            step(disk)
            if n == len(steps):
                self._crash_again(disk, promises, settled)
            elif disk.condition() != before:  # else the step changed nothing: the same moment
                self._crash_again(disk, promises, promises)

    def _crash_again(self, disk: Disk, promises: Promises, promised: Promises) -> None:
        self.moments += 1
        for state in disk.states():
            self.states += 1
            if self._is_good(state, promised):
                self._recover_once(state, promises)

    def _recover_once(self, state: State, promises: Promises) -> None:
        seen = ("once", _key(state, promises))
        if seen not in self._recovered:
            self._recovered.add(seen)
            self._recover(Disk.after(state, self.renames), promises, promises.settled())

    def _recover(self, disk: Disk, promises: Promises, settled: Promises) -> Sequence[Step]:
        self.recoveries += 1
        try:
            steps = recover(self.layer, promises, disk)
        except OSError:
            self.bad[STUCK] += 1
            return []
        live = disk.live()
        if self._is_good(live, settled) and any(_is_draft(path) for path in live.tree.files):
            self.bad[STUCK] += 1
        return steps

    def _is_good(self, state: State, promises: Promises) -> bool:
        verdict = judge(state, promises)
        if verdict:
            self.bad[verdict] += 1
        return not verdict


def moments(disk: Disk, promises: Promises, told: Sequence[Sequence[Event]]) -> Iterator[tuple[Disk, Promises]]:
    """Yield every moment of every order in which the steps may happen, each once, from when all lives have begun."""
    waiting = [((0,) * len(told), disk, promises)]
    seen, yielded = set(), set()
    while waiting:
        places, disk, promises = waiting.pop()
        condition = disk.condition()
        if (places, condition) in seen:
            continue
        seen.add((places, condition))
        if all(places) and (condition, promises.key()) not in yielded:
            yielded.add((condition, promises.key()))
            yield disk, promises
        for n, place in enumerate(places):
            if place < len(told[n]):
                after = disk.copy()
                promised = told[n][place].happen(after, promises)
                waiting.append(((*places[:n], place + 1, *places[n + 1 :]), after, promised))


def judge(state: State, promises: Promises) -> str | None:
    """Say what is wrong with the state that a crash has left."""
    if not promises.folders <= state.tree.folders.keys():
        return FOLDER
    found: dict[tuple[str, str], bytes] = {}
    for path, node in state.tree.files.items():
        place, _, name = path.removeprefix(_PREFIX).partition("/")
        if name.startswith(DRAFT):
            continue
        if name not in promises.messages:
            return FOREIGN
        allowed = promises.messages[name].allowed.get(place)
        if allowed is None:
            return BACK
        content = found[place, name] = state.contents[node]
        if content not in allowed:
            return PART
    return _missing(found, promises)


def _missing(found: Mapping[tuple[str, str], bytes], promises: Promises) -> str | None:
    for name, promise in promises.messages.items():
        if any(None not in allowed and (place, name) not in found for place, allowed in promise.allowed.items()):
            return LOST
        if promise.moving and promise.moving not in (found.get((place, name)) for place in promise.allowed):
            return LOST
    return None


def _key(state: State, promises: Promises) -> object:
    """Return all that recovery can see: of a draft only the name, as nobody opens one."""
    files = tuple(
        (path, node, b"" if _is_draft(path) else state.contents[node]) for path, node in state.tree.files.items()
    )
    return files, tuple(state.tree.folders), promises.key()


def _is_draft(path: str) -> bool:
    return f"/{DRAFT}" in path
