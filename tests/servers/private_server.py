"""What the private servers have in common: start, stop, kill and start again in one folder on one port."""

import os
import random
import signal
import socket
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, Self

from tests.servers.reaped import Account, ReapedProcess, TemporaryFolder

HOST = "127.0.0.1"
START_SECONDS = 120.0
STOP_SECONDS = 60.0


class ServerFailed(Exception):
    """A private server did not start, answer or stop."""


class PrivateServer(ABC):
    """A server of this process alone, in the given folder or in a temporary one of its own.

    Nothing of it outlives this process, however that ends. A given folder stays; its owner removes it.
    """

    name: ClassVar[str]
    is_private: ClassVar[bool] = True
    stop_signal: ClassVar[signal.Signals] = signal.SIGTERM
    last_signal: ClassVar[signal.Signals] = signal.SIGKILL

    def __init__(self, folder: Path | None = None) -> None:
        self._temporary: TemporaryFolder | None = None
        if folder is None:
            self._temporary = TemporaryFolder(f"postern-{self.name}-")
            folder = self._temporary.path
        self.folder = folder.absolute()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.port = find_free_port()
        self._process: ReapedProcess | None = None
        self._is_prepared = False
        self._is_closed = False
        self._lock = threading.Lock()

    @property
    @abstractmethod
    def url(self) -> str:
        """Give the address that clients connect to."""

    @property
    def is_running(self) -> bool:
        """Tell whether the server's process is there."""
        return self._process is not None and self._process.is_alive

    @property
    def log(self) -> Path:
        """Name the file with everything the server printed."""
        return self.folder / "server.log"

    def start(self) -> None:
        """Start the server on its port with the data of its last life, and wait until it answers."""
        if self.is_running:
            raise ServerFailed(f"{self.name} is running already.")
        if not self._is_prepared:
            self._prepare()
            self._is_prepared = True
        self._wait_for_an_answer(self._launch(self._command()))

    def stop(self) -> None:
        """Let the server finish its work and end."""
        self._end_by(self.stop_signal)

    def kill(self) -> None:
        """End the server like a power cut, with every process it started."""
        self._end_by(signal.SIGKILL)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Let every process of the server stand still: connections stay open, and nobody answers."""
        assert self._process is not None
        self._process.signal_all(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.signal_all(signal.SIGCONT)

    def close(self) -> None:
        """Take the server down for good, whatever it is doing; a start in another thread fails."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
        if self._process is not None:
            self._process.end()
        self._clean_up()
        if self._temporary is not None:
            self._temporary.remove()

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def _command(self) -> list[str]:
        """Give the command that runs the server in the foreground."""

    @abstractmethod
    def _greets(self, connection: socket.socket) -> bool:
        """Tell whether the server answers a client on this connection."""

    def _prepare(self) -> None:
        """Write the files the server needs before its first start."""
        return

    def _clean_up(self) -> None:
        """Free what the server may have left outside of its folder."""
        return

    def _environment(self) -> dict[str, str]:
        path = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
        return {"PATH": path, "HOME": str(self.folder), "LANG": "C.UTF-8", "TZ": "UTC"}

    def _account(self) -> Account | None:
        """Name another account to run the server as."""
        return None

    def _launch(self, command: Sequence[str]) -> ReapedProcess:
        with self._lock:
            if self._is_closed:
                raise ServerFailed(f"{self.name} has been closed.")
            self._process = ReapedProcess(
                command,
                log=self.log,
                environment=self._environment(),
                account=self._account(),
                last_signal=self.last_signal,
            )
            return self._process

    def _wait_for_an_answer(self, process: ReapedProcess) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            if not process.is_alive:
                raise ServerFailed(f"{self.name} ended while it started:\n{self._last_words()}")
            if time.monotonic() > deadline:
                process.end()
                raise ServerFailed(f"{self.name} does not answer:\n{self._last_words()}")
            time.sleep(0.05)

    def _answers(self) -> bool:
        try:
            with socket.create_connection((HOST, self.port), timeout=5) as connection:
                return self._greets(connection)
        except OSError:
            # Refused or cut: it has not come that far yet.
            return False

    def _last_words(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-30:])

    def _end_by(self, number: signal.Signals) -> None:
        if self._process is None or not self._process.is_alive:
            raise ServerFailed(f"{self.name} is not running.")
        self._process.signal(number)
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.end()
            raise ServerFailed(f"{self.name} ignored {number.name}:\n{self._last_words()}") from None


def find_free_port() -> int:
    """Choose a loopback port that nothing listens on.

    It lies below the range of outgoing connections: while the server is stopped, no client can be given its
    port, nor connect to itself on it.
    """
    for port in random.SystemRandom().sample(range(20_000, 32_000), 100):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
        return port
    raise ServerFailed(f"No free port on {HOST} between 20000 and 32000.")
