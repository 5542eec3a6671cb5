"""The border to the disk: files lie in a real folder, and a power cut leaves of them what POSIX promises and no more.

Every change is also made on the simulated disk of the crash drills, which knows what has been synced.
"""

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePath
from random import Random
from typing import Any
from unittest.mock import patch

from tests.faults.simulated_disk import FATES, ROOT, Disk, Renames, State, _content, _tree
from tests.simulation.scheduler import Scheduler
from tests.simulation.threads import wall_clock

OFTEN = 6.0
"""A file is changed far more rarely than a row."""


class SimulatedVolume:
    """A folder whose files are on the disk once they are synced."""

    def __init__(self, scheduler: Scheduler, folder: Path) -> None:
        self._scheduler, self._folder = scheduler, folder
        self._disk = Disk(Renames.TORN_ACROSS)
        self._nodes: dict[int, str] = {}
        self._offsets: dict[int, int] = {}
        self._real: dict[str, Any] = {}
        self._dice = Random(f"power/{scheduler.nature.seed}")

    @contextmanager
    def in_place(self) -> Iterator[None]:
        names = ("open", "close", "write", "fsync", "rename", "link", "unlink", "mkdir")
        self._real = {name: getattr(os, name) for name in names}
        with ExitStack() as stack:
            for name in names:
                stack.enter_context(patch.object(os, name, getattr(self, f"_{name}")))
            yield

    def sync_all(self) -> None:
        """Bring everything to the disk: what was there before the run."""
        live = self._disk.live()
        self._disk = Disk.after(live, Renames.TORN_ACROSS)

    def cut_power(self) -> None:
        """Kill everybody, and leave of what was not synced any part."""
        self._scheduler.tell("POWER IS CUT")
        self._scheduler.kill_all()
        disk = self._disk
        kept = [self._dice.random() < 0.5 for _ in disk.changes]
        contents = dict(disk.contents)
        for node, writes in disk.writes.items():
            if node in contents:
                contents[node] = _content(contents[node], writes, tuple(self._dice.choice(FATES) for _ in writes))
        state = State(_tree(disk._names_after(tuple(kept)), disk.folders), contents)
        self._disk = Disk.after(state, Renames.TORN_ACROSS)
        self._nodes.clear()
        self._write_out(state)

    def _write_out(self, state: State) -> None:
        for entry in self._folder.iterdir():
            shutil.rmtree(entry)
        for path in sorted(state.tree.folders):
            if path != ROOT:
                self._real["mkdir"](self._folder / path[1:])
        for path, node in state.tree.files.items():
            descriptor = self._real["open"](self._folder / path[1:], os.O_WRONLY | os.O_CREAT)
            self._real["write"](descriptor, state.contents[node])
            self._real["close"](descriptor)
            self._date(self._folder / path[1:])

    def _find(self, path: Any) -> PurePath | None:
        """Return where a path is on the volume; None where it is elsewhere."""
        if not isinstance(path, str | Path):
            return None
        found = Path(path)
        return PurePath(ROOT) / found.relative_to(self._folder) if found.is_relative_to(self._folder) else None

    def _date(self, path: Any) -> None:
        at = wall_clock(self._scheduler)
        os.utime(path, (at, at))

    def _open(self, path: Any, flags: int, mode: int = 0o777, **options: Any) -> int:
        place = self._find(path)
        if place is None:
            return int(self._real["open"](path, flags, mode, **options))
        is_new = bool(flags & os.O_CREAT) and not os.path.lexists(path)
        if is_new:
            self._meet("creates", path)
        descriptor = int(self._real["open"](path, flags, mode, **options))
        if is_new:
            self._disk.make(place)
            self._date(path)
        self._nodes[descriptor], self._offsets[descriptor] = self._disk.find(place), 0
        return descriptor

    def _close(self, descriptor: int) -> None:
        self._nodes.pop(descriptor, None)
        self._real["close"](descriptor)

    def _write(self, descriptor: int, data: Any) -> int:
        node = self._nodes.get(descriptor)
        if node is None:
            return int(self._real["write"](descriptor, data))
        self._meet("writes", node, fails=errno.ENOSPC)
        written = int(self._real["write"](descriptor, data))
        self._disk.write(node, self._offsets[descriptor], bytes(data)[:written])
        self._offsets[descriptor] += written
        return written

    def _fsync(self, descriptor: int) -> None:
        node = self._nodes.get(descriptor)
        if node is not None:
            self._meet("syncs", node, fails=errno.EIO)
            self._disk.sync(node)

    def _rename(self, source: Any, target: Any, **options: Any) -> None:
        self._change("renames", (source, target), lambda: self._real["rename"](source, target, **options), Disk.rename)

    def _link(self, source: Any, target: Any, **options: Any) -> None:
        self._change("links", (source, target), lambda: self._real["link"](source, target, **options), Disk.link)

    def _unlink(self, path: Any, **options: Any) -> None:
        self._change("deletes", (path,), lambda: self._real["unlink"](path, **options), Disk.unlink)

    def _mkdir(self, path: Any, mode: int = 0o777, **options: Any) -> None:
        self._change(
            "makes a folder",
            (path,),
            lambda: self._real["mkdir"](path, mode, **options),
            lambda disk, place: disk.make(place, folder=True),
        )

    def _change(self, what: str, paths: tuple[Any, ...], do: Callable[[], Any], record: Callable[..., Any]) -> None:
        places = [self._find(path) for path in paths]
        if None in places:
            do()
            return
        self._meet(what, *paths)
        do()
        record(self._disk, *places)

    def _meet(self, what: str, *paths: Any, fails: int = errno.EIO) -> None:
        """Pass the point of a file operation; a failing disk answers with an error instead."""
        detail = " → ".join(str(path).replace(str(self._folder), "") for path in paths)
        if self._scheduler.point(what, detail, possible=("disk",), weight=OFTEN) == "disk":
            raise OSError(fails, os.strerror(fails))
