"""Servers that accept connections and never answer: clients must not wait for them for ever."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

from tests.servers.private_server import HOST

T = TypeVar("T")


class SilentServer:
    """Accepts every connection and never answers."""

    def __init__(self) -> None:
        self._listener = socket.create_server((HOST, 0))
        self.port: int = self._listener.getsockname()[1]
        self._accepted: list[socket.socket] = []
        self._thread = threading.Thread(target=self._accept, daemon=True)

    @property
    def connections(self) -> int:
        return len(self._accepted)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join(5)
        for one in self._accepted:
            with suppress(OSError):  # the other side has hung up
                one.shutdown(socket.SHUT_RDWR)  # else whoever reads from it in a thread keeps it open
            one.close()
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                accepted, _ = self._listener.accept()
            except OSError:
                return  # closed: the test is over
            self._accepted.append(accepted)


class Proxy(SilentServer):
    """Passes bytes on to a real server until it is told to fall silent."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self._target = port
        self._is_silent = threading.Event()

    @classmethod
    def to(cls, url: str) -> Self:
        port = urlsplit(url).port
        assert port is not None
        return cls(port)

    def rewrite(self, url: str) -> str:
        """Return an address of the real server by way of this one."""
        real = urlsplit(url)
        return real._replace(netloc=f"{real.netloc.rpartition('@')[0]}@{HOST}:{self.port}").geturl()

    def silence_after(self, connect: Callable[..., T]) -> Callable[..., T]:
        """Return a way to connect after which the server is silent: it has let the client in, and no more."""

        def connect_last(*args: Any, **options: Any) -> T:
            connection = connect(*args, **options)
            self.fall_silent()
            return connection

        return connect_last

    def fall_silent(self) -> None:
        self._is_silent.set()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return  # closed: the test is over
            far = socket.create_connection((HOST, self._target))
            self._accepted += [near, far]
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._pass_on, args=(source, sink), daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                if not self._is_silent.is_set():
                    sink.sendall(data)
        except OSError:
            return  # either side is gone
