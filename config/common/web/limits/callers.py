"""Whose share a call is counted against, before anything of it is read but the head."""

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable

from asgiref.typing import HTTPScope, WebSocketScope

from config.common.key_text import find_prefix
from config.common.web.limits.shares import Caller, Standing
from config.common.web.networks import network_of

MOST_KNOWN = 10_000
KNOWN_SECONDS = 600.0


class KnownCallers:
    """Credentials that were found to be right lately, by digest.

    A prefix or a name alone would be believed of anybody who has read it somewhere, and every new one would have a
    share of its own.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: OrderedDict[bytes, tuple[str, float]] = OrderedDict()

    def remember(self, credential: bytes, name: str) -> None:
        digest = _digest(credential)
        self._known[digest] = (name, self._clock() + KNOWN_SECONDS)
        self._known.move_to_end(digest)
        if len(self._known) > MOST_KNOWN:
            self._known.popitem(last=False)

    def find(self, credential: bytes) -> str | None:
        name, until = self._known.get(_digest(credential), ("", 0.0))
        return name if self._clock() < until else None


known_callers = KnownCallers()


def caller_of(scope: HTTPScope | WebSocketScope, known: KnownCallers = known_callers) -> Caller:
    credential = credential_of(scope)
    name = known.find(credential) if credential else None
    if name is not None:
        return Caller(name, Standing.KNOWN)
    address = network_in(scope)
    # Whoever makes keys up has many such shares; all strangers together still have no more than theirs.
    prefix = find_prefix(credential.decode("latin-1").partition(" ")[2].strip())
    return Caller(f"{address} {prefix}" if prefix else address, Standing.STRANGER)


def network_in(scope: HTTPScope | WebSocketScope) -> str:
    client = scope.get("client")
    return network_of(client[0]) if client else ""


def credential_of(scope: HTTPScope | WebSocketScope) -> bytes:
    """Return what the caller shows to say who it is: a key, else its cookies, else nothing."""
    cookies = b""
    for name, value in scope["headers"]:
        if name == b"authorization":
            return value
        if name == b"cookie":
            cookies = value
    return _session_in(cookies)


def _session_in(cookies: bytes) -> bytes:
    """Return the session alone: other cookies of a browser change from call to call."""
    for cookie in cookies.split(b";"):
        if cookie.strip().partition(b"=")[0].endswith(b"sessionid"):
            return cookie.strip()
    return b""


def _digest(credential: bytes) -> bytes:
    return hashlib.blake2b(credential, digest_size=16).digest()
