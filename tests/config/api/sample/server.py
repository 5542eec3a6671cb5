"""The product's own ASGI application under a real server, as a process of its own."""

import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.servers.private_server import find_free_port

HERE = "127.0.0.1"


@dataclass(frozen=True)
class Server:
    port: int
    pid: int
    temporary: Path

    def threads(self) -> int:
        return self._status("Threads")

    def memory_mb(self) -> float:
        return self._status("VmRSS") / 1024

    def connect(self, source: str = HERE) -> socket.socket:
        """Connect from that address: all of 127.0.0.0/8 is this machine."""
        return socket.create_connection((HERE, self.port), timeout=60, source_address=(source, 0))

    def get(self, path: str, headers: dict[str, str] | None = None, source: str = HERE) -> "Answer":
        return self.call("GET", path, headers=headers, source=source)

    def call(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
        source: str = HERE,
    ) -> "Answer":
        connection = http.client.HTTPConnection(HERE, self.port, timeout=60, source_address=(source, 0))
        try:
            connection.request(method, path, body=body, headers=headers or {})
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, found, response.read())
        finally:
            connection.close()

    def _status(self, name: str) -> int:
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith(f"{name}:")).split()[1])


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes


@contextmanager
def serve(folder: Path, **variables: str) -> Iterator[Server]:
    port = find_free_port()
    temporary = folder / "tmp"
    temporary.mkdir()
    ours = {"DATA_DIR": str(folder / "data"), "TMPDIR": str(temporary), "LOG_LEVEL": "ERROR"}
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.config.api.sample.settings", **ours, **variables}
    if "DATABASE_URL" not in variables:
        environment.pop("DATABASE_URL", None)
    command = [sys.executable, "-m", "uvicorn", "config.asgi:application", "--port", str(port)]
    # Uvicorn's command takes WEB_CONCURRENCY for a number of processes; here it is the calls of one.
    command += ["--workers", "1", "--log-level", "error"]
    command += ["--http", "config.runtime.connections:Connection", "--ws", "config.runtime.connections:WebSocket"]
    with (folder / "log").open("wb") as log, subprocess.Popen(command, env=environment, stderr=log) as process:
        try:
            server = Server(port, process.pid, temporary)
            _wait_until_up(server, process)
            yield server
        finally:
            process.kill()


def _wait_until_up(server: Server, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if server.get("/healthz").status == 200:
                return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError("the server did not start")
