from enum import IntEnum
from typing import Any, ClassVar

from config.common.errors import ApplicationError, Conflict, NotFound


class SessionCode(IntEnum):
    """The outcome of an operation on a repeat session, as handlers and callers get it."""

    OK = 200
    INTERNAL = 1000
    TOO_LONG = 2000
    LIMIT_REACHED = 2001
    INVALID = 4000


class FollowerWaits(Exception):
    """The follower cannot go on for now, through no fault of the event: try again, set nothing aside."""


class IncidentNotFound(NotFound):
    """Incident not found."""


class IncidentResolved(Conflict):
    """This incident has already been resolved."""


class IncidentFailedAgain(Conflict):
    """The consumer could not process the event again; the reason is in the data."""


class DeliveryNotFound(NotFound):
    """Delivery not found."""


class Superseded(Conflict):
    """A newer message has replaced this one. Resend the newer one; its id is in the data."""

    sample = {"superseded_by": 4712}


class ClientInactive(Conflict):
    """Nothing is sent to an inactive client. Activate it first: missed messages are then queued automatically."""


class PingUnderWay(Conflict):
    """This test message is still being sent. Repeat the call in a few seconds to read the response."""


class PingFailed(ApplicationError):
    """The test message was not accepted."""


class AlertNotFound(NotFound):
    """Alert not found."""


class AlertAcknowledged(Conflict):
    """This alert has already been acknowledged."""

    sample = {"acknowledged_by": "staff:ann"}


class AlertResolved(Conflict):
    """This alert has already been resolved."""


class DecisionNeeded(Conflict):
    """This alert needs a decision and is closed only by it. Decide on the page named in the data."""

    sample = {"page": "https://postern.example/admin/exchange/exchangeprocess/…", "subject": "exchange/…"}


class SessionError(ApplicationError):
    """The call about a repeat session is invalid."""

    session_code: ClassVar[int] = SessionCode.INVALID

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.sample = {**cls.sample, "session_code": int(cls.session_code)}

    def __init__(self, message: str = "", **data: Any) -> None:
        super().__init__(message, **data, session_code=int(self.session_code))


class SessionNotFound(SessionError):
    """Session not found; it may have succeeded or been deleted."""

    status = 404


class ThemeNotFound(SessionError):
    """Theme not found."""

    status = 404


class ThemeTaken(SessionError):
    """A theme with this number already exists."""

    status = 409
    sample = {"theme": 7}


class ThemeInUse(SessionError):
    """This theme has sessions, or is built into Postern. Delete its sessions first."""

    status = 409
    sample = {"theme": 7}


class NothingToSign(SessionError):
    """This theme has a handler and no URL, so it has no secret to replace."""

    status = 409
    sample = {"theme": 7}


class WrongStatus(SessionError):
    """The status of the session does not allow this; the status is in the data."""

    status = 409
    sample = {"status": "active"}


class StaleChange(SessionError):
    """The session has changed since. Read it again; its newest change is in the data."""

    status = 409
    sample = {"change": 5}


class SessionTooLong(SessionError):
    """The records of the session would be longer than its theme allows."""

    session_code = SessionCode.TOO_LONG
    sample = {"length": 70_000, "limit": 65_536}


class RepeatLimitReached(SessionError):
    """The session has used up the attempts its theme allows. Delete it, or ask an operator to restart it."""

    status = 409
    session_code = SessionCode.LIMIT_REACHED
    sample = {"repeats": 10, "limit": 10}


class ParkedMessageNotFound(ApplicationError):
    """Parked message not found."""

    status = 404


class ParkedMessageDecided(ApplicationError):
    """This message has already been sent again or discarded."""

    status = 409


class NotSentAgain(ApplicationError):
    """The broker has not accepted the message; it stays parked. Try again when RabbitMQ is back."""

    status = 503
    retry_after = 5
