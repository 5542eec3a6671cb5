from config.common.errors import ApplicationError, Conflict, NotFound


class DefinitionNotFound(NotFound):
    """There is no such workflow definition."""


class RevisionNotFound(NotFound):
    """There is no such revision of this workflow definition."""


class InstanceNotFound(NotFound):
    """There is no such workflow instance."""


class VersionNotFound(NotFound):
    """There is no such version of this workflow instance."""


class TaskNotFound(NotFound):
    """There is no such task."""


class NotExecutable(ApplicationError):
    """This file cannot be run; the data name each element, its line and what is wrong with it."""


class KeyTaken(Conflict):
    """A definition with this key belongs to another enterprise, or to none. Give the process another id."""


class VersionConflict(Conflict):
    """The instance has moved on since. Read it again; its newest version is in the data."""


class NotPossible(Conflict):
    """The instance cannot do that now; the reason is in the data."""


class Abandoned(Conflict):
    """The instance has been returned to an earlier version since: this task is not waited for any more."""


class NotLocked(Conflict):
    """This worker does not hold the task: its lock has ended and another worker has taken it, or nobody has."""
