"""The one family of errors that callers see: a code, a status, data; the docstring is the message."""

import re
import socket
from typing import Any, ClassVar

from django.utils.translation import gettext


class ApplicationError(Exception):
    """Something went wrong that the caller can understand."""

    status: ClassVar[int] = 400
    code: ClassVar[str] = "error"
    retry_after: ClassVar[int | None] = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "code" not in cls.__dict__:
            cls.code = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()

    def __init__(self, message: str = "", **data: Any) -> None:
        self.message = message or gettext(" ".join((type(self).__doc__ or "").split()))
        self.data = data
        super().__init__(self.message)


class Invalid(ApplicationError):
    """The input breaks a rule."""

    def __init__(self, fields: dict[str, list[str]]) -> None:
        super().__init__(fields=fields)


class NotFound(ApplicationError):
    """There is nothing here under that name."""

    status = 404


class Conflict(ApplicationError):
    """That contradicts what is there already."""

    status = 409


class NotPermitted(ApplicationError):
    """This key or account may not do that."""

    status = 403
    code = "forbidden"


class ScopeMissing(NotPermitted):
    """This key or account may not do that: it lacks a scope."""

    code = "forbidden"

    def __init__(self, scope: str) -> None:
        super().__init__(gettext("This needs the scope “%(scope)s”.") % {"scope": scope}, scope=scope)


class WrongKind(NotPermitted):
    """This call is for keys of another kind."""

    code = "forbidden"


class DatabaseAway(ApplicationError):
    """The database cannot be reached; nothing has changed. Repeat the call a little later."""

    status = 503
    retry_after = 5


class OutcomeUnknown(DatabaseAway):
    """The database was lost while it committed: it is not known whether this call has taken effect.
    Repeat it a little later with the same id or Idempotency-Key: it has one effect then."""


class DiskFull(ApplicationError):
    """The disk is full; nothing has changed. Tell the operator, then repeat the call."""

    status = 507


class DiskFailed(ApplicationError):
    """The disk reported an error; nothing has changed. Tell the operator, then repeat the call."""

    status = 503
    retry_after = 30


class VolumeAway(ApplicationError):
    """The volume of the message files is not there; nothing has changed. Repeat the call a little later."""

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
    """The body is larger than this call takes. Nothing of it has been kept."""

    status = 413

    def __init__(self, limit: int, words: str = "") -> None:
        """Say the limit, which is in bytes, in these words where it is not that of the bytes that came."""
        words = words or gettext(
            "Larger than %(limit)d bytes, the most that is taken here. Nothing of it has been kept."
        )
        super().__init__(words % {"limit": limit}, limit=limit)


class InternalError(ApplicationError):
    """Something failed on our side. The operator finds it in the log under the correlation id."""

    status = 500
