"""What is answered in place of the app, in the shape and with the headers of every other error."""

import msgspec
from asgiref.typing import HTTPResponseStartEvent
from django.utils.translation import gettext

from config.common.errors import ApplicationError


class BodyStalled(ApplicationError):
    """The rest of the body did not arrive in time. Nothing has been stored."""

    status = 408


class HeadStalled(ApplicationError):
    """The headers did not arrive in time."""

    status = 408


class HeadTooLarge(ApplicationError):
    """The headers are too large or too many."""

    status = 431

    def __init__(self, limit: int, words: str = "") -> None:
        words = words or gettext("The headers are larger than %(limit)d bytes in total, which is the maximum.")
        super().__init__(words % {"limit": limit}, limit=limit)


class TooManyHeaders(HeadTooLarge):
    """There are too many headers."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit, gettext("There are more than %(limit)d headers, which is the maximum."))


class UrlTooLong(ApplicationError):
    """The URL is too long."""

    status = 414

    def __init__(self, limit: int) -> None:
        words = gettext("The URL is longer than the maximum of %(limit)d bytes.")
        super().__init__(words % {"limit": limit}, limit=limit)


class BadHttp(ApplicationError):
    """This is not valid HTTP."""


class Busy(ApplicationError):
    """Too many calls at once. Repeat the call a little later."""

    status = 503
    retry_after = 1


class TooManyCalls(ApplicationError):
    """Too many sign-ins or refused calls from your address. Repeat the call a little later."""

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
