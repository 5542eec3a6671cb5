"""Processes and folders that a reaper ends and removes together with this process, even when it is killed."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.servers import reaper
from tests.servers.reaper import Order


@dataclass(frozen=True)
class Account:
    """The user and group a process runs as."""

    name: str
    user: int
    group: int


class ReapedProcess:
    """A process under its own reaper."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        log: Path,
        environment: Mapping[str, str],
        account: Account | None = None,
        last_signal: signal.Signals = signal.SIGKILL,
    ) -> None:
        order = Order(
            parent=os.getpid(),
            command=list(command),
            user=account.user if account else None,
            group=account.group if account else None,
            last_signal=last_signal,
            folder="",
        )
        self._reaper = _start_reaper(order, log=log, environment=environment)

    @property
    def is_alive(self) -> bool:
        """Tell whether the process or anything it started still runs."""
        return self._reaper.poll() is None

    def signal_all(self, number: signal.Signals) -> None:
        """Send a signal to the process and to whatever it has started, at once and not by way of its reaper."""
        for pid in _descendants(self._reaper.pid):
            os.kill(pid, number)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process."""
        assert self._reaper.stdin is not None
        try:
            os.write(self._reaper.stdin.fileno(), bytes([number]))
        except BrokenPipeError:
            # It has ended meanwhile; `wait` tells how.
            return

    def wait(self, seconds: float) -> int:
        """Wait for the end of the process and of all its descendants; return the exit code."""
        code = self._reaper.wait(seconds)
        self._let_go()
        return code

    def end(self) -> None:
        """Take the process down at once, without a chance to finish its work."""
        self._let_go()
        self._reaper.wait(2 * reaper.LAST_SIGNAL_SECONDS)

    def _let_go(self) -> None:
        assert self._reaper.stdin is not None
        self._reaper.stdin.close()


class TemporaryFolder:
    """A folder under its own reaper, which removes it."""

    def __init__(self, prefix: str) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=prefix))
        # A server that runs as another user must be able to pass through.
        self.path.chmod(0o711)
        order = Order(
            parent=os.getpid(),
            command=[],
            user=None,
            group=None,
            last_signal=reaper.NO_SIGNAL,
            folder=str(self.path),
        )
        self._reaper = _start_reaper(order, log=Path(os.devnull), environment={})

    def remove(self) -> None:
        """Remove the folder with all its content."""
        assert self._reaper.stdin is not None
        self._reaper.stdin.close()
        if self._reaper.wait(2 * reaper.REMOVAL_SECONDS):
            raise OSError(f"{self.path} could not be removed.")


def _start_reaper(order: Order, *, log: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    with log.open("ab") as output:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", reaper.__file__, json.dumps(order)],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            # Ctrl-C in the terminal is for the tests alone.
            start_new_session=True,
        )


def children_of(pid: int) -> Iterator[int]:
    """Yield the processes that a process has started, or adopted, and not yet waited for."""
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        yield from map(int, listed.read_text().split())


def _descendants(pid: int) -> Iterator[int]:
    for child in children_of(pid):
        yield child
        yield from _descendants(child)
