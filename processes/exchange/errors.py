from config.common.errors import Conflict, NotFound


class ProcessNotFound(NotFound):
    """Exchange process not found."""


class DifferentRepeat(Conflict):
    """This process has already been prepared, with another body. Repeat exactly what you sent."""


class ProcessNotFailed(Conflict):
    """Only a process that failed to move its files can be retried."""


class ProcessNotStarted(Conflict):
    """Only a process that has not prepared anything can be ended manually."""


class FilesFound(Conflict):
    """None of these files is missing any more. Try moving them again."""


class ProcessSettled(Conflict):
    """This process has already been settled."""
