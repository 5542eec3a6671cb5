"""Calls to the API of the product that the demonstration runs."""

import json
import time
import urllib.error
import urllib.request
from typing import Any

SECONDS = 30.0


class Api:
    def __init__(self, url: str, key: str) -> None:
        self._url, self._key = url.rstrip("/"), key

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Return the answer of a call; anything but success is an `HTTPError`."""
        request = urllib.request.Request(
            f"{self._url}/api/v1{path}",
            None if body is None else json.dumps(body).encode(),
            {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return json.loads(answer.read() or b"null")


def wait_until_served(url: str) -> None:
    """Return once the product answers; whoever started it stops the wait."""
    while True:
        try:
            urllib.request.urlopen(f"{url.rstrip('/')}/healthz", timeout=SECONDS).close()
        except (urllib.error.URLError, OSError):
            time.sleep(0.3)
        else:
            return
