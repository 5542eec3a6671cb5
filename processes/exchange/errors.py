from config.common.errors import Conflict, NotFound


class ProcessNotFound(NotFound):
    """There is no such exchange process."""


class DifferentRepeat(Conflict):
    """This process was prepared before, with another body. Repeat exactly what you sent."""


class ProcessNotFailed(Conflict):
    """Only a process whose file moves failed can be tried again."""


class ProcessNotStarted(Conflict):
    """Only a process that has not prepared anything can be ended by hand."""


class FilesFound(Conflict):
    """None of these files is missing any more. Try again to move them."""


class ProcessSettled(Conflict):
    """This process is settled already."""
