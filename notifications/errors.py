from config.common.errors import Conflict, NotFound


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
