from config.common.errors import ApplicationError, Conflict, NotFound


class EntityNotFound(NotFound):
    """Unknown entity. The known ones are listed in the data."""

    sample = {"entities": ["clients", "dummy-items", "dummy-nodes", "sensors"]}


class RowNotFound(NotFound):
    """Row not found."""


class EventNotFound(NotFound):
    """Event not found."""


class EventCanceled(Conflict):
    """This change set was cancelled: the reader will never have it."""

    sample = {"event": 12}


class NotYetHere(ApplicationError):
    """The reader does not have this change set yet. Repeat the call."""

    status = 503
    retry_after = 1
    sample = {"event": 12}


class ReaderAway(ApplicationError):
    """The database of this reader does not answer at the moment. Repeat the call a little later."""

    status = 503
    retry_after = 5
    sample = {"reader": "main"}


class ReaderNotFound(NotFound):
    """Reader not found."""


class NotFailed(Conflict):
    """Only a change set whose compensation has failed can be resolved."""

    sample = {"status": "Committed"}


class StillFailing(Conflict):
    """The compensation failed again. Fix what it names, or accept the Writer's values."""

    sample = {"reason": "The row has been changed since."}
