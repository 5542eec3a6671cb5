"""A demonstration that runs in a folder of its own, and a browser without windows that is signed in to it."""

import http.cookiejar
import os
import re
import signal
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.browser.installation import wait_until_served
from tests.faults.product import PASSWORD, ROOT, copy_prepared
from tests.servers.private_server import find_free_port

SECONDS = 60
_TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


@contextmanager
def demonstration(folder: Path) -> Iterator[str]:
    """Serve one that has been prepared; yield the address."""
    port = find_free_port()
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    own = {"DATA_DIR": str(folder), "PORT": str(port), "LOG_LEVEL": "WARNING"}
    manage = [sys.executable, "manage.py"]
    copy_prepared(folder)
    with (folder / "demo.log").open("wb") as log:
        served = subprocess.Popen([*manage, "demo"], cwd=ROOT, env=kept | own, stdout=log, stderr=log)
        try:
            wait_until_served(f"http://127.0.0.1:{port}/healthz", served)
            yield f"http://127.0.0.1:{port}"
        finally:
            served.send_signal(signal.SIGTERM)
            served.wait(60)


class Reader:
    """Reads pages as the first administrator."""

    def __init__(self, address: str) -> None:
        self._address = address
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self._opener = urllib.request.build_opener(cookies)
        (token,) = _TOKEN.findall(self.read("/admin/login/"))[:1]
        form = {"csrfmiddlewaretoken": token, "username": "admin", "password": PASSWORD, "next": "/admin/"}
        self.read("/admin/login/", urllib.parse.urlencode(form).encode())

    def read(self, path: str, form: bytes | None = None) -> str:
        request = urllib.request.Request(self._address + path, form, {"Referer": self._address + path})
        with self._opener.open(request, timeout=SECONDS) as answer:
            return str(answer.read().decode())
