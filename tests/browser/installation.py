"""A real installation for the browser: its own folder, its own process, no engine but the embedded ones."""

import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.faults.product import copy_prepared
from tests.servers.private_server import find_free_port

ROOT = Path(__file__).resolve().parent.parent.parent
PATIENCE_SECONDS = 240
PAGES_FILE = "pages.json"
"""Beside the data: the paths of all pages, for whoever opens them."""


@contextmanager
def running(folder: Path, *, is_empty: bool = False, **variables: str) -> Iterator[str]:
    """Copy an installation, with content unless it shall be empty, serve it, yield its address."""
    port = find_free_port()
    environment = {**_environment(folder, port), **variables}
    copy_prepared(folder)
    if not is_empty:
        content = [sys.executable, "-m", "tests.browser.content"]
        subprocess.run(content, cwd=ROOT, env=environment, check=True, capture_output=True)
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen([sys.executable, "manage.py", "up"], cwd=ROOT, env=environment, stderr=log)
        try:
            wait_until_served(f"http://127.0.0.1:{port}/healthz", server)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(60)


def _environment(folder: Path, port: int) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return {
        **kept,
        "DATA_DIR": str(folder),
        "PORT": str(port),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "LOG_LEVEL": "ERROR",
    }


def wait_until_served(address: str, server: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        assert server.poll() is None, "the server ended before it served: see server.log"
        try:
            urllib.request.urlopen(address, timeout=10).close()
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.2)
        else:
            return
    raise TimeoutError(f"{address} did not answer within {PATIENCE_SECONDS} s")
