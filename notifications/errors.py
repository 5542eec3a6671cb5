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
    """There is no such incident."""


class IncidentResolved(Conflict):
    """This incident has been resolved already."""


class IncidentFailedAgain(Conflict):
    """The follower refused the event again; the reason is in the data."""


class DeliveryNotFound(NotFound):
    """There is no such delivery."""


class Superseded(Conflict):
    """A newer message has taken the place of this one. Resend that one; its id is in the data."""


class ClientInactive(Conflict):
    """Nothing is sent to an inactive client. Switch it on first: what it missed is then queued by itself."""


class PingUnderWay(Conflict):
    """This very ping is under way. Repeat the call in a few seconds to read its answer."""


class PingFailed(ApplicationError):
    """The ping has reached nobody who took it."""


class AlertNotFound(NotFound):
    """There is no such alert."""


class AlertAcknowledged(Conflict):
    """This alert has been acknowledged already."""


class AlertResolved(Conflict):
    """This alert has been resolved already."""


class DecisionNeeded(Conflict):
    """This alert stands for a decision and is closed by it alone. Decide on the page that the data name."""


class SessionError(ApplicationError):
    """The call about a repeat session is invalid."""

    session_code: ClassVar[int] = SessionCode.INVALID

    def __init__(self, message: str = "", **data: Any) -> None:
        super().__init__(message, **data, session_code=int(self.session_code))


class SessionNotFound(SessionError):
    """There is no such session; it may have been repeated with success, or deleted."""

    status = 404


class ThemeNotFound(SessionError):
    """There is no such theme."""

    status = 404


class ThemeTaken(SessionError):
    """There is a theme of this number already."""

    status = 409


class ThemeInUse(SessionError):
    """This theme has sessions, or belongs to the product itself. Delete its sessions first."""

    status = 409


class NothingToSign(SessionError):
    """This theme has a handler and no URL, so there is no secret to replace."""

    status = 409


class WrongStatus(SessionError):
    """The session is not in a status for that; the one it is in is in the data."""

    status = 409


class StaleChange(SessionError):
    """The session has changed since. Read it again; its newest change is in the data."""

    status = 409


class SessionTooLong(SessionError):
    """The records of the session would be longer than its theme allows."""

    session_code = SessionCode.TOO_LONG


class RepeatLimitReached(SessionError):
    """The session has failed as often as its theme allows. Delete it, or let an operator revive it."""

    status = 409
    session_code = SessionCode.LIMIT_REACHED


class ParkedMessageNotFound(ApplicationError):
    """There is no such parked message."""

    status = 404


class ParkedMessageDecided(ApplicationError):
    """Somebody has sent this message again, or discarded it, already."""

    status = 409


class NotSentAgain(ApplicationError):
    """The broker has not taken the message; it stays parked. Try again when RabbitMQ is back."""

    status = 503
    retry_after = 5
