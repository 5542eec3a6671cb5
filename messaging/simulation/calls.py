"""Calls to a Postern server over HTTP, with nothing but the standard library.

The one question after a failed call is whether the server may have carried it out. `Refused` says: it has not, and
never will, do not repeat. `NoAnswer` says: nobody knows, so repeat the same body or ask.
"""

import http.client
import json
import time
from dataclasses import dataclass
from typing import Any, TypedDict
from urllib.parse import urlsplit

Message = TypedDict(
    "Message",
    {
        "version": int,
        "id": str,
        "name": str,
        "from": str,
        "to": str,
        "subsystem": str,
        "created_at": str,
        "correlation_id": str,
        "payload": Any,
    },
)
"""A message as everyone sees it (`reply_to` only where it is a reply)."""

KEEP_SECONDS = 2.0
LONGEST_PAUSE = 10.0


class NoAnswer(Exception):
    """The server did not say what it did: the call may or may not have been carried out."""

    def __init__(self, reason: str, retry_after: float = 0.0) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


class Refused(Exception):
    """The server refused the call and changed nothing."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(f"{status} {code}: {message}")
        self.status, self.code = status, code


@dataclass(frozen=True)
class Answer:
    status: int
    json: Any


class Calls:
    """One caller with its key; the connection is kept between calls that follow closely. For one thread at a time."""

    def __init__(self, url: str, key: str, *, timeout: float = 30.0) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"not an http or https URL with a host: {url}")
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection = kind(parts.hostname, parts.port, timeout=timeout)
        self._base = f"{parts.path.rstrip('/')}/api/v1"
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        self._used_at = 0.0

    def call(self, method: str, path: str, body: bytes | None = None) -> Answer:
        """Call once; raise `Refused` for a 4xx and `NoAnswer` for all that leaves the outcome open."""
        if time.monotonic() - self._used_at > KEEP_SECONDS:
            self.close()
        try:
            self._connection.request(method, f"{self._base}{path}", body, self._headers)
            response = self._connection.getresponse()
            answer = _read(response.status, response.read(), response.headers.get("Retry-After", ""))
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise NoAnswer(f"{method} {path}: {error!r}") from error
        self._used_at = time.monotonic()
        return answer

    def repeat(self, method: str, path: str, body: bytes | None = None, *, times: int, pause: float) -> Answer:
        """Call until there is an answer, with the same bytes each time; raise the last `NoAnswer`."""
        for attempt in range(times - 1):
            try:
                return self.call(method, path, body)
            except NoAnswer as error:
                time.sleep(min(LONGEST_PAUSE, max(error.retry_after, pause * 2**attempt)))
        return self.call(method, path, body)

    def close(self) -> None:
        self._connection.close()


def encode(body: dict[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def _read(status: int, body: bytes, retry_after: str) -> Answer:
    if status == 429 or status >= 500:
        raise NoAnswer(f"status {status}", float(retry_after) if retry_after.isdigit() else 0.0)
    try:
        decoded = json.loads(body) if body else None
    except ValueError as error:
        raise NoAnswer(f"status {status} with a body that is no JSON") from error
    if status >= 400:
        said = decoded if isinstance(decoded, dict) else {}
        raise Refused(status, str(said.get("code", "")), str(said.get("message", "")))
    if status >= 300:
        raise Refused(status, "redirected", "the URL is not that of the server itself")
    return Answer(status, decoded)
