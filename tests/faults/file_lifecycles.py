"""Lifecycles of message files on a simulated disk (written, moved, deleted), and what each step of them promises."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from config.common import files
from tests.faults.simulated_disk import Disk, DiskOs, Step

BASE = Path("/data/1")
MESSAGES, PREPARED, LOG, UNKNOWN, ERROR = FOLDERS = ("Messages", "Prepared", "Log", "Unknown", "Error")
SEAMS = ("config.common.files.os", "tests.faults.faulty_file_operations.os")


@dataclass(frozen=True)
class Layer:
    """The functions under test; a wrong order takes the place of one of them."""

    write: Callable[[Path, Iterable[bytes]], object] = files.write_durably
    move: Callable[[Path, Path], None] = files.move_durably
    delete: Callable[[Path], None] = files.delete_durably
    make_folder: Callable[[Path], None] = files.make_folder
    put_back: Callable[[Path, Path], None] = files.move_durably


RIGHT = Layer()


@dataclass(frozen=True)
class Promise:
    """What may be found of one message after a crash: by folder the contents allowed, None where it may be missing."""

    allowed: Mapping[str, frozenset[bytes | None]] = field(default_factory=dict)
    moving: bytes | None = None  # the row owes a move: this must be found in one of the folders …
    home: str = ""  # … and belongs in this one
    doomed: bool = False  # the row is gone: the file is to go

    def settled(self, *, copies: bool = False) -> "Promise":
        """Return what holds after recovery; where nothing crashed, the old name may still come back."""
        if self.doomed:
            return Promise()
        if self.moving is None:
            return self
        others = {place: frozenset({self.moving, None}) for place in self.allowed} if copies else {}
        return Promise({**others, self.home: frozenset({self.moving})})


@dataclass(frozen=True)
class Promises:
    messages: Mapping[str, Promise] = field(default_factory=dict)
    folders: frozenset[str] = frozenset()

    def key(self) -> object:
        """Return what tells these promises from others of the same lives: they are made once and passed on."""
        return tuple(id(promise) for promise in self.messages.values()), self.folders

    def settled(self, *, copies: bool = False) -> "Promises":
        settled = {name: promise.settled(copies=copies) for name, promise in self.messages.items()}
        return Promises(settled, frozenset(str(BASE / folder) for folder in FOLDERS))


class Event(NamedTuple):
    """A step of the disk, and what is promised once it is done."""

    step: Step
    messages: Mapping[str, Promise]
    folders: frozenset[str] = frozenset()

    def happen(self, disk: Disk, promises: Promises) -> Promises:
        self.step(disk)
        if not self.messages and not self.folders:
            return promises
        return Promises({**promises.messages, **self.messages}, promises.folders | self.folders)


@dataclass(frozen=True)
class Life:
    """What becomes of one message."""

    given: str = ""  # where one of its name is at first
    written: tuple[str, ...] = ()  # where it is written, once or again
    moves: tuple[str, ...] = ()
    deleted: bool = False
    founds: bool = False  # the folders are made first
    pieces: int = 2


LIVES = {
    "sent, processed": Life(written=(MESSAGES,), moves=(LOG,)),
    "in doubt, back": Life(given=MESSAGES, moves=(UNKNOWN, MESSAGES)),
    "reply": Life(written=(PREPARED,), moves=(MESSAGES, LOG)),
    "replaced": Life(given=MESSAGES, written=(MESSAGES, MESSAGES)),
    "incorrect, cleaned": Life(given=MESSAGES, moves=(ERROR,), deleted=True),
    "sent, deleted": Life(written=(MESSAGES,), deleted=True),
    "moved over another": Life(given=LOG, written=(MESSAGES,), moves=(LOG,)),
}
FOUNDATION = Life(founds=True, written=(MESSAGES,), moves=(LOG,))


@contextmanager
def working_on(disk: Disk) -> Iterator[DiskOs]:
    """Let the file layer, and the wrong ones, work on this disk."""
    stand_in = DiskOs(disk)
    with ExitStack() as seams:
        for seam in SEAMS:
            seams.enter_context(mock.patch(seam, stand_in))
        yield stand_in


def begin(lives: Mapping[str, Life], disk: Disk) -> Promises:
    """Put on the disk what is there before the lives begin, and return what is promised of it."""
    folders = [] if any(life.founds for life in lives.values()) else [BASE / folder for folder in FOLDERS]
    with working_on(disk):
        for folder in folders:
            files.make_folder(folder)
        for name, life in lives.items():
            if life.given:
                files.write_durably(BASE / life.given / name, pieces_of(name, 0, 2))
    messages = {name: _given(name, life) for name, life in lives.items()}
    return Promises(messages, frozenset(str(folder) for folder in folders))


def pieces_of(name: str, version: int, count: int) -> list[bytes]:
    return [f"{name}{version}{n}|".encode() for n in range(count)]


def lead(name: str, life: Life, layer: Layer, disk: Disk) -> list[Event]:
    """Lead a life on a disk and return what happened, step by step."""
    with working_on(disk) as stand_in:
        teller = _Teller(name, life, layer, stand_in)
        if life.founds:
            teller.found()
        for version, place in enumerate(life.written, start=1):
            teller.write(place, pieces_of(name, version, life.pieces))
        for place in life.moves:
            teller.move(place)
        if life.deleted:
            teller.delete()
    return teller.events


def recover(layer: Layer, promises: Promises, disk: Disk) -> list[Step]:
    """Do what the product does when it starts: folders, drafts, and each file to where its row says it belongs."""
    with working_on(disk) as stand_in:
        for folder in FOLDERS:
            layer.make_folder(BASE / folder)
            files.sweep_drafts(BASE / folder, older_than_seconds=0)
        for name, promise in promises.messages.items():
            for place in promise.allowed:
                if promise.doomed:
                    layer.delete(BASE / place / name)
                elif promise.moving and place != promise.home and name in stand_in.listdir(BASE / place):
                    layer.put_back(BASE / place / name, BASE / promise.home / name)
    return stand_in.steps


class _Teller:
    """Leads a life and tells each step of it, with what is promised meanwhile and afterwards."""

    def __init__(self, name: str, life: Life, layer: Layer, stand_in: DiskOs) -> None:
        self.events: list[Event] = []
        self._name, self._layer, self._os = name, layer, stand_in
        self._now = _given(name, life)
        self._place, self._content = life.given, b"".join(pieces_of(name, 0, 2))

    def found(self) -> None:
        for folder in FOLDERS:
            made = frozenset({str(BASE / folder)})
            self._tell(partial(self._layer.make_folder, BASE / folder), self._now, self._now, made)

    def write(self, place: str, pieces: list[bytes]) -> None:
        self._place, self._content = place, b"".join(pieces)
        during = {**self._now.allowed, place: self._found_in(place) | {self._content}}
        after = {**self._now.allowed, place: frozenset({self._content})}
        self._tell(partial(self._layer.write, self._path(place), pieces), Promise(during), Promise(after))

    def move(self, target: str) -> None:
        source, self._place = self._place, target
        others = {place: allowed for place, allowed in self._now.allowed.items() if place != source}
        there = {source: frozenset({self._content, None}), target: self._found_in(target) | {self._content}}
        during = Promise({**others, **there}, moving=self._content, home=target)
        after = Promise({**others, target: frozenset({self._content})})
        self._tell(partial(self._layer.move, self._path(source), self._path(target)), during, after)

    def delete(self) -> None:
        during = Promise({self._place: frozenset({self._content, None})}, doomed=True)
        self._tell(partial(self._layer.delete, self._path(self._place)), during, Promise())

    def _found_in(self, place: str) -> frozenset[bytes | None]:
        return self._now.allowed.get(place, frozenset({None}))

    def _path(self, place: str) -> Path:
        return BASE / place / self._name

    def _tell(
        self, act: Callable[[], object], during: Promise, after: Promise, folders: frozenset[str] = frozenset()
    ) -> None:
        before = len(self._os.steps)
        act()
        self._now = after
        *steps, last = self._os.steps[before:]
        self.events += [Event(step, {self._name: during}) for step in steps]
        self.events.append(Event(last, {self._name: after}, folders))


def _given(name: str, life: Life) -> Promise:
    if not life.given:
        return Promise()
    return Promise({life.given: frozenset({b"".join(pieces_of(name, 0, 2))})})
