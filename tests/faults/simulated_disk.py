"""A disk that keeps after a crash only what was synced, and of the rest any part: as little as POSIX promises.

Each change of a folder waits until that folder is synced, each write until its file is. A crash keeps any subset of
the changes that wait, in their order, and of each waiting write all, nothing, the first half, or only the room for it,
with what had been in those blocks before.
"""

import errno
import itertools
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from pathlib import PurePath
from types import SimpleNamespace
from typing import NamedTuple

ROOT = "/"
STALE = b"?"
# A crash keeps of a write …
FATES: tuple[Callable[[bytes], bytes | None], ...] = (
    lambda data: data,  # all of it
    lambda data: None,  # nothing, not even the length
    lambda data: data[: len(data) // 2] + STALE * (len(data) - len(data) // 2),
    lambda data: STALE * len(data),
)


class Renames(Enum):
    """What a crash may keep of a rename that was not synced."""

    TORN = "either half of any rename"
    TORN_ACROSS = "either half of a rename from folder to folder; within a folder all or nothing"
    WHOLE = "all or nothing"


class Entry(NamedTuple):
    folder: str
    name: str
    node: str | None


Change = tuple[Entry, ...]
Names = dict[tuple[str, str], str]


class Write(NamedTuple):
    offset: int
    data: bytes


class Tree(NamedTuple):
    """What can be reached from the root."""

    folders: Mapping[str, str]
    files: Mapping[str, str]


class State(NamedTuple):
    """What a crash has left: the node of each path, and the contents of the nodes."""

    tree: Tree
    contents: Mapping[str, bytes]


@dataclass
class Disk:
    renames: Renames = Renames.TORN
    cached: Names = field(default_factory=dict)
    kept: Names = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    folders: set[str] = field(default_factory=lambda: {ROOT})
    contents: dict[str, bytes] = field(default_factory=dict)
    writes: dict[str, tuple[Write, ...]] = field(default_factory=dict)

    @classmethod
    def after(cls, state: State, renames: Renames) -> "Disk":
        """Start anew on what a crash has left."""
        disk = cls(renames)
        paths = {**state.tree.folders, **state.tree.files}
        for path, node in paths.items():
            if path != ROOT:
                folder, _, name = path.rpartition("/")
                disk.kept[state.tree.folders[folder or ROOT], name] = node
        disk.cached = dict(disk.kept)
        disk.folders = set(state.tree.folders.values())
        disk.contents = {node: state.contents[node] for node in state.tree.files.values()}
        return disk

    def copy(self) -> "Disk":
        return Disk(
            self.renames,
            dict(self.cached),
            dict(self.kept),
            list(self.changes),
            set(self.folders),
            dict(self.contents),
            dict(self.writes),
        )

    def make(self, path: PurePath, *, folder: bool = False) -> str:
        """Name a new file or folder; its node is called after the path, the same in whatever order things happen."""
        where, name = self._place(path)
        if (where, name) in self.cached:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
        node = str(path)
        while node in self.contents or node in self.folders:
            node += "'"
        if folder:
            self.folders.add(node)
        else:
            self.contents[node] = b""
        self._change((Entry(where, name, node),))
        return node

    def write(self, node: str, offset: int, data: bytes) -> None:
        self.writes[node] = (*self.writes.get(node, ()), Write(offset, data))

    def rename(self, source: PurePath, target: PurePath) -> None:
        node, old, new = self.find(source), self._place(source), self._place(target)
        if self.cached.get(new) == node:
            return  # POSIX: two names of one file both stay
        change: Change = (Entry(*new, node), Entry(*old, None))
        torn = self.renames is Renames.TORN or (self.renames is Renames.TORN_ACROSS and old[0] != new[0])
        for part in [change[:1], change[1:]] if torn else [change]:
            self._change(part)

    def link(self, source: PurePath, target: PurePath) -> None:
        node, new = self.find(source), self._place(target)
        if new in self.cached:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
        self._change((Entry(*new, node),))

    def unlink(self, path: PurePath) -> None:
        self.find(path)
        self._change((Entry(*self._place(path), None),))

    def sync(self, node: str) -> None:
        """Bring to the disk what waits for this file or folder."""
        if node in self.folders:
            self._sync_folder(node)
        elif node in self.writes:
            self.contents[node] = self.read(node)
            del self.writes[node]

    def find(self, path: PurePath) -> str:
        node = ROOT
        for name in path.parts[1:]:
            found = self.cached.get((node, name))
            if found is None:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
            node = found
        return node

    def read(self, node: str) -> bytes:
        return _content(self.contents[node], self.writes.get(node, ()), (FATES[0],) * len(self.writes.get(node, ())))

    def names(self, node: str) -> list[str]:
        return [name for (folder, name) in self.cached if folder == node]

    def link_count(self, node: str) -> int:
        return sum(found == node for found in self.cached.values())

    def states(self) -> Iterator[State]:
        """Yield what a crash at this moment may leave, every subset of what waits, each once."""
        waiting = [node for node in self.writes if node in self.contents]
        outcomes = [list(self._outcomes(node)) for node in waiting]
        for kept in itertools.product((False, True), repeat=len(self.changes)):
            tree = _tree(self._names_after(kept), self.folders)
            for contents in itertools.product(*outcomes):
                yield State(tree, {**self.contents, **dict(zip(waiting, contents, strict=True))})

    def live(self) -> State:
        """Return what those who work on the disk see."""
        return State(_tree(self.cached, self.folders), {node: self.read(node) for node in self.contents})

    def condition(self) -> object:
        """Return what tells one moment of the disk from another: changes of different names have no order."""
        changes = tuple(sorted(self.changes, key=lambda change: change[0][:2]))
        return changes, frozenset(self.kept.items()), frozenset(self.contents.items()), frozenset(self.writes.items())

    def _place(self, path: PurePath) -> tuple[str, str]:
        return self.find(path.parent), path.name

    def _change(self, change: Change) -> None:
        self.changes.append(change)
        _apply(self.cached, change)

    def _sync_folder(self, folder: str) -> None:
        synced = [any(entry.folder == folder for entry in change) for change in self.changes]
        if self.renames is Renames.WHOLE:  # a journal: nothing gets there before what was done earlier
            synced = [any(synced[n:]) for n in range(len(synced))]
        for change in itertools.compress(self.changes, synced):
            _apply(self.kept, change)
        self.changes = [change for change, done in zip(self.changes, synced, strict=True) if not done]

    def _outcomes(self, node: str) -> Iterator[bytes]:
        writes = self.writes[node]
        for fates in itertools.product(FATES, repeat=len(writes)):
            yield _content(self.contents[node], writes, fates)

    def _names_after(self, kept: tuple[bool, ...]) -> Names:
        names = dict(self.kept)
        for change in itertools.compress(self.changes, kept):
            _apply(names, change)
        return names


def _apply(names: Names, change: Change) -> None:
    for folder, name, node in change:
        if node is None:
            names.pop((folder, name), None)
        else:
            names[folder, name] = node


def _content(content: bytes, writes: tuple[Write, ...], fates: tuple[Callable[[bytes], bytes | None], ...]) -> bytes:
    for (offset, data), fate in zip(writes, fates, strict=True):
        left = fate(data)
        if left is not None:
            content = content[:offset].ljust(offset, b"\0") + left + content[offset + len(left) :]
    return content


def _tree(names: Names, folders: set[str]) -> Tree:
    found, files, paths = {ROOT: ROOT}, {}, {ROOT: ""}
    waiting = list(names.items())
    while waiting:
        later = []
        for (folder, name), node in waiting:
            if folder not in paths:
                later.append(((folder, name), node))
            elif node in folders:
                paths[node] = f"{paths[folder]}/{name}"
                found[paths[node]] = node
            else:
                files[f"{paths[folder]}/{name}"] = node
        if len(later) == len(waiting):
            break  # the rest is in folders that are lost
        waiting = later
    return Tree(found, files)


Step = Callable[[Disk], object]


class DiskOs:
    """The part of `os` that works with files, on a disk; it records the steps that matter in a crash.

    What is missing here is an error in the test: the layer under test has begun to use it.
    """

    O_RDONLY, O_WRONLY, O_CREAT, O_EXCL = os.O_RDONLY, os.O_WRONLY, os.O_CREAT, os.O_EXCL
    O_DIRECTORY, O_NOFOLLOW = os.O_DIRECTORY, os.O_NOFOLLOW

    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        self.steps: list[Step] = []
        self._nodes: dict[int, str] = {}
        self._offsets: dict[int, int] = {}

    def open(self, path: PurePath, flags: int, mode: int = 0o777) -> int:
        descriptor = max(self._nodes, default=2) + 1
        self._nodes[descriptor], self._offsets[descriptor] = self._find_or_make(path, flags), 0
        return descriptor

    def close(self, descriptor: int) -> None:
        del self._nodes[descriptor]

    def write(self, descriptor: int, data: bytes) -> int:
        node, offset = self._nodes[descriptor], self._offsets[descriptor]
        self._do(partial(Disk.write, node=node, offset=offset, data=bytes(data)))
        self._offsets[descriptor] += len(data)
        return len(data)

    def read(self, descriptor: int, size: int) -> bytes:
        return self.disk.read(self._nodes[descriptor])[:size]

    def fsync(self, descriptor: int) -> None:
        self._do(partial(Disk.sync, node=self._nodes[descriptor]))

    def rename(self, source: PurePath, target: PurePath) -> None:
        self._do(partial(Disk.rename, source=source, target=target))

    def link(self, source: PurePath, target: PurePath, *, follow_symlinks: bool = True) -> None:
        self._do(partial(Disk.link, source=source, target=target))

    def unlink(self, path: PurePath) -> None:
        self._do(partial(Disk.unlink, path=path))

    def mkdir(self, path: PurePath) -> None:
        self._do(partial(Disk.make, path=path, folder=True))

    def listdir(self, path: PurePath) -> list[str]:
        return self.disk.names(self.disk.find(path))

    def stat(self, path: PurePath) -> SimpleNamespace:
        node = self.disk.find(path)
        return SimpleNamespace(
            st_dev=1,
            st_ino=node,
            st_nlink=self.disk.link_count(node),
            st_mtime=0,
            st_mode=stat.S_IFDIR if node in self.disk.folders else stat.S_IFREG,
        )

    lstat = stat

    def _find_or_make(self, path: PurePath, flags: int) -> str:
        try:
            node = self.disk.find(path)
        except FileNotFoundError:
            if not flags & os.O_CREAT:
                raise
            self._do(partial(Disk.make, path=path))
            return self.disk.find(path)
        if flags & os.O_EXCL:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
        return node

    def _do(self, step: Step) -> None:
        step(self.disk)
        self.steps.append(step)
