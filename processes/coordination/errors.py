from config.common.errors import ApplicationError, Conflict, NotFound


class EntityNotFound(NotFound):
    """There is no such entity. Those that there are stand in the data."""


class RowNotFound(NotFound):
    """There is no row with this id."""


class EventNotFound(NotFound):
    """There is no such event."""


class EventCanceled(Conflict):
    """This event was cancelled: the reader will never have it."""


class NotYetHere(ApplicationError):
    """The reader does not have this event yet. Repeat the call."""

    status = 503
    retry_after = 1


class ReaderNotFound(NotFound):
    """There is no such reader."""


class NotFailed(Conflict):
    """Only an event whose compensation has failed can be resolved."""


class StillFailing(Conflict):
    """The compensation failed again. Put right what it names, or accept the Writer's values."""
