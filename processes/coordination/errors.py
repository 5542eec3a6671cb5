from config.common.errors import Conflict, NotFound


class EntityNotFound(NotFound):
    """There is no such entity. Entities are dummy-items, dummy-nodes, sensors and clients."""


class RowNotFound(NotFound):
    """There is no row with this id."""


class EventNotFound(NotFound):
    """There is no such event."""


class ReaderNotFound(NotFound):
    """There is no such reader."""


class NotFailed(Conflict):
    """Only an event whose compensation has failed can be resolved."""


class StillFailing(Conflict):
    """The compensation failed again. Put right what it names, or accept the Writer's values."""
