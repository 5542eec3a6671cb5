"""The one family of errors that callers see: a code, a status, data; the docstring is the message."""

import re
import socket
from collections.abc import Mapping
from typing import Any, ClassVar

from django.utils.translation import gettext


class ApplicationError(Exception):
    """The request failed for a reason that the caller can act on."""

    status: ClassVar[int] = 400
    code: ClassVar[str] = "error"
    retry_after: ClassVar[int | None] = None
    sample: ClassVar[Mapping[str, Any]] = {}
    """What `data` may hold, as the documentation of the API shows it."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "code" not in cls.__dict__:
            cls.code = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    def __init__(self, message: str = "", **data: Any) -> None:
        self.message = message or gettext(" ".join((type(self).__doc__ or "").split()))
        self.data = data
        super().__init__(self.message)


class Invalid(ApplicationError):
    """Invalid input."""

    def __init__(self, fields: dict[str, list[str]]) -> None:
        super().__init__(fields=fields)


class NotFound(ApplicationError):
    """Page not found."""

    status = 404


class Conflict(ApplicationError):
    """This contradicts the current state."""

    status = 409


class NotPermitted(ApplicationError):
    """This key or account is not allowed to do that."""

    status = 403
    code = "forbidden"


class ScopeMissing(NotPermitted):
    """This key or account is not allowed to do that: a scope is missing."""

    code = "forbidden"

    def __init__(self, scope: str) -> None:
        super().__init__(gettext("This requires the scope “%(scope)s”.") % {"scope": scope}, scope=scope)


class WrongKind(NotPermitted):
    """This call is for another kind of key."""

    code = "forbidden"


class DatabaseAway(ApplicationError):
    """The database is not available; nothing has changed. Repeat the call a little later."""

    status = 503
    retry_after = 5


class OutcomeUnknown(DatabaseAway):
    """The connection to the database was lost during the commit: it is unknown whether this call has taken effect.
    Repeat it a little later with the same id or Idempotency-Key: it will take effect only once.
    """


class DiskFull(ApplicationError):
    """The disk is full; nothing has changed. Inform the operator, then repeat the call."""

    status = 507


class DiskFailed(ApplicationError):
    """The disk reported an error; nothing has changed. Inform the operator, then repeat the call."""

    status = 503
    retry_after = 30


class VolumeAway(ApplicationError):
    """The volume with the message files is not available; nothing has changed. Repeat the call a little later."""

    status = 503
    retry_after = 30

    def __init__(self, title: str, **detail: Any) -> None:
        """Take the words of the alert, a source text of `gettext`; callers are not told how our folders are called."""
        super().__init__()
        self.title, self.detail = title, {"node": socket.gethostname(), **detail}

    @property
    def words(self) -> str:
        return gettext(self.title) % self.detail


class TooLarge(ApplicationError):
    """The body is larger than this call accepts. Nothing has been stored."""

    status = 413

    def __init__(self, limit: int, words: str = "") -> None:
        """Say the limit, which is in bytes, in these words where it is not that of the bytes that came."""
        words = words or gettext("Larger than the maximum of %(limit)d bytes. Nothing has been stored.")
        super().__init__(words % {"limit": limit}, limit=limit)


class InternalError(ApplicationError):
    """Something failed on our side. The operator finds it in the log by the correlation id."""

    status = 500
