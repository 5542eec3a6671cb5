"""What is answered in place of the app, in the shape and with the headers of every other error."""

import msgspec
from asgiref.typing import HTTPResponseStartEvent
from django.utils.translation import gettext

from config.common.errors import ApplicationError


class BodyStalled(ApplicationError):
    """The rest of the body did not arrive in time. Nothing of it has been kept."""

    status = 408


class HeadStalled(ApplicationError):
    """The headers did not arrive in time."""

    status = 408


class HeadTooLarge(ApplicationError):
    """The headers are larger, or more of them, than are taken here."""

    status = 431

    def __init__(self, limit: int, words: str = "") -> None:
        words = words or gettext("All headers together are larger than %(limit)d bytes, the most that is taken here.")
        super().__init__(words % {"limit": limit}, limit=limit)


class TooManyHeaders(HeadTooLarge):
    """There are more headers than are taken here."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit, gettext("There are more than %(limit)d headers, the most that are taken here."))


class UrlTooLong(ApplicationError):
    """The URL is longer than is taken here."""

    status = 414

    def __init__(self, limit: int) -> None:
        words = gettext("The URL is longer than %(limit)d bytes, the most that is taken here.")
        super().__init__(words % {"limit": limit}, limit=limit)


class BadHttp(ApplicationError):
    """This cannot be read as HTTP."""


class Busy(ApplicationError):
    """Too many calls at once. Repeat the call a little later."""

    status = 503
    retry_after = 1


class TooManyCalls(ApplicationError):
    """Too many sign-ins, or calls that were refused, from here. Repeat the call a little later."""

    status = 429
    code = "throttled"
    retry_after = 1


def answer_of(error: ApplicationError) -> tuple[HTTPResponseStartEvent, bytes]:
    """Return head and body; the connection is closed after them, for what follows is not worth reading."""
    body = msgspec.json.encode({"code": error.code, "message": error.message, "data": error.data})
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
        (b"x-content-type-options", b"nosniff"),
        (b"cache-control", b"no-store"),
        (b"connection", b"close"),
    ]
    if error.retry_after is not None:
        headers.append((b"retry-after", str(error.retry_after).encode()))
    return {"type": "http.response.start", "status": error.status, "headers": headers, "trailers": False}, body
