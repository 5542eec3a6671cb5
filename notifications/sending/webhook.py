"""Call a webhook: a signed POST and its answer. Knows no model: the caller decides what an answer means."""

import math
import time
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver
from aiohttp.http_exceptions import HttpProcessingError
from yarl import URL

from config.common.correlation import HEADER, PATTERN
from config.common.database.leases import lease_clock
from config.common.text import clean_text
from notifications.sending.guard import AddressRefused, Network, guarded_connector
from notifications.sending.signing import sign

TIMEOUT_SECONDS = 10.0
CONNECT_SECONDS = 5.0
LEAST_SECONDS = 1.0
"""No call is begun with less time left of the lease."""
BODY_BYTES = 1024
ERROR_LENGTH = 300
RETRY_AFTER_SECONDS = 86_400.0
HEADER_BYTES = 8190
HEADERS = 100
CORRELATION = HEADER.decode()

# Failures of the receiver, the network and the URL (some URLs fail to parse only when they are called). Anything else
# is a bug and is raised.
_FAILURES = (aiohttp.ClientError, HttpProcessingError, OSError, ValueError)


class ClaimLapsed(Exception):
    """The lease of the claim has ended: somebody else may have sent a newer message by now."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a receiver answered, cleaned so that it can be stored.

    The status alone decides. With a 2xx `error` may still say that the rest of the answer never came: the receiver has
    taken the message all the same.
    """

    status: int | None
    duration_ms: int
    body: str = ""
    error: str = ""
    retry_after: float | None = None

    def __post_init__(self) -> None:
        """Clean texts from outside, whatever the transport: one that cannot be stored would fail a whole batch."""
        object.__setattr__(self, "body", clean_text(self.body, BODY_BYTES))
        object.__setattr__(self, "error", clean_text(self.error, ERROR_LENGTH))

    @property
    def ok(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


def open_http_session(
    allowed: Sequence[Network], *, limit: int = 0, resolver: AbstractResolver | None = None
) -> aiohttp.ClientSession:
    """Return the HTTP session for webhooks; open and close it inside the event loop.

    It takes no proxy from the environment, keeps no cookies and decompresses nothing.
    """
    return aiohttp.ClientSession(
        connector=guarded_connector(allowed, limit=limit, resolver=resolver),
        headers={"content-type": "application/json", "user-agent": "Postern/1", "accept-encoding": "identity"},
        request_class=LeasedRequest,
        cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=False,
        auto_decompress=False,
        read_bufsize=BODY_BYTES,
        max_line_size=HEADER_BYTES,
        max_field_size=HEADER_BYTES,
        max_headers=HEADERS,
    )


async def post_webhook(
    session: aiohttp.ClientSession,
    url: str,
    message_id: str,
    body: bytes,
    secrets: Sequence[str],
    *,
    correlation_id: str = "",
    timeout_seconds: float = TIMEOUT_SECONDS,
    until: float = math.inf,
) -> Answer:
    """Post a message signed with these secrets, newest first; return the answer, also of a failure.

    Raise `ClaimLapsed`, with nothing sent, if the lease has ended when the connection stands.
    """
    answer, _ = await call_webhook(
        session,
        url,
        message_id,
        body,
        secrets,
        correlation_id=correlation_id,
        timeout_seconds=timeout_seconds,
        until=until,
    )
    return answer


async def call_webhook(
    session: aiohttp.ClientSession,
    url: str,
    message_id: str,
    body: bytes,
    secrets: Sequence[str],
    *,
    correlation_id: str = "",
    timeout_seconds: float = TIMEOUT_SECONDS,
    most_bytes: int = BODY_BYTES,
    until: float = math.inf,
) -> tuple[Answer, bytes]:
    """Post as `post_webhook` does; return also the first bytes of the answer, uncleaned."""
    timeout_seconds = _limit_to_lease(timeout_seconds, until)
    hold_requests(until)
    target = _target(url)
    if target is None:
        return Answer(None, 0, error="the URL must be http or https with a host and without a user"), b""
    headers = sign(secrets, message_id, int(time.time()), body)
    if PATTERN.fullmatch(correlation_id):
        # A receiver that calls back with it goes on with the same chain.
        headers[CORRELATION] = correlation_id
    received = _Received(most_bytes)
    started = time.monotonic()
    try:
        await _exchange(session, target, body, headers, _limits(timeout_seconds), received)
        error = _describe_status(received.status)
    except _FAILURES as failure:
        error = _describe_failure(failure, timeout_seconds)
    duration_ms = round((time.monotonic() - started) * 1000)
    text = clean_text(received.body, BODY_BYTES)
    return Answer(received.status, duration_ms, text, error, received.retry_after), bytes(received.body)


_held_until: ContextVar[float] = ContextVar("held_until", default=math.inf)


def hold_requests(until: float) -> None:
    """Let the requests of this task be sent up to a time of `lease_clock`."""
    _held_until.set(until)


class LeasedRequest(aiohttp.ClientRequest):
    async def send(self, conn: Any) -> aiohttp.ClientResponse:
        """Check the lease when the connection stands: the process may have been suspended since the claim."""
        if lease_clock() >= _held_until.get():
            raise ClaimLapsed
        return await super().send(conn)


def _limit_to_lease(timeout_seconds: float, until: float) -> float:
    """Return a time-out that ends before the lease does: no POST is under way when somebody else may begin one."""
    left = until - lease_clock()
    if left < LEAST_SECONDS:
        raise ClaimLapsed
    # Rounded, because `_limits` is cached by this number.
    return timeout_seconds if left >= timeout_seconds else math.floor(left * 2) / 2


@dataclass(slots=True)
class _Received:
    """The part of the answer that has arrived, also if the rest does not come."""

    most_bytes: int
    status: int | None = None
    retry_after: float | None = None
    body: bytearray = field(default_factory=bytearray)


def _target(url: str) -> URL | None:
    try:
        target = URL(url)
    except (ValueError, IndexError):  # the parser trips over `http://[::]@`
        return None
    if target.scheme not in ("http", "https") or not target.raw_host:
        return None
    if target.raw_user is not None or target.raw_password is not None:
        return None
    return target


@cache
def _limits(timeout_seconds: float) -> aiohttp.ClientTimeout:
    """Return the time limits of a call with its answer; without `ceil_threshold` aiohttp rounds long ones up."""
    return aiohttp.ClientTimeout(total=timeout_seconds, sock_connect=CONNECT_SECONDS, ceil_threshold=math.inf)


async def _exchange(
    session: aiohttp.ClientSession,
    target: URL,
    body: bytes,
    headers: dict[str, str],
    limits: aiohttp.ClientTimeout,
    received: _Received,
) -> None:
    call = session.post(target, data=body, headers=headers, allow_redirects=False, timeout=limits)
    async with call as response:
        received.status = response.status
        received.retry_after = parse_retry_after(response.headers.get("retry-after"), at=time.time())
        # aiohttp closes the connection of an answer that is not read to its end, and keeps that of a whole one.
        while len(received.body) < received.most_bytes and not response.content.at_eof():
            received.body += await response.content.read(received.most_bytes - len(received.body))


def parse_retry_after(value: str | None, *, at: float) -> float | None:
    """Return the seconds to wait, at most a day, from a number of seconds or a date; None from anything else."""
    if value is None:
        return None
    value = value.strip()
    if value.isascii() and value.isdigit():
        return min(float(value), RETRY_AFTER_SECONDS)
    try:
        date = parsedate_to_datetime(value)
        until = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return min(max(until - at, 0.0), RETRY_AFTER_SECONDS)


def _describe_status(status: int | None) -> str:
    if status is None or 200 <= status < 300:
        return ""
    if 300 <= status < 400:
        return f"answered {status}: redirects are not followed, the client needs its final URL"
    return f"answered {status}"


def _describe_failure(failure: BaseException, timeout_seconds: float) -> str:
    """Return what went wrong in words of this product: nothing that was received, nothing that was sent."""
    match failure:
        case aiohttp.ClientConnectorError(os_error=AddressRefused() as refused):
            return str(refused)
        case aiohttp.ClientConnectorDNSError():
            return f"the name {failure.host} was not found ({failure.strerror})"
        case aiohttp.ClientConnectorCertificateError():
            return f"the certificate is not trusted ({failure.certificate_error})"
        case aiohttp.ClientSSLError():
            return f"no TLS ({failure.strerror})"
        case aiohttp.ConnectionTimeoutError():
            return f"no connection within {CONNECT_SECONDS:g} s"
        case TimeoutError():
            return f"no whole answer within {timeout_seconds:g} s"
        case aiohttp.ClientConnectorError():
            return f"no connection ({failure.strerror})"
        case ValueError():
            return "the URL names no host that can be called"
        case aiohttp.ClientResponseError() | HttpProcessingError():
            return "the answer is not HTTP, or its headers are too long"
        case OSError(strerror=str() as reason):
            return f"the connection broke ({reason})"
    return "the connection was closed before the answer was whole"
