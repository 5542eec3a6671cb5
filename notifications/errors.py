from config.common.errors import ApplicationError, Conflict, NotFound


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
