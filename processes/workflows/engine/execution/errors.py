"""Why a command was not applied."""


class CommandRejected(Exception):
    """The command does not fit the state of the instance; nothing was changed."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class CommandFailed(Exception):
    """The command failed at an element; the state is unchanged, and the failure becomes an incident."""

    def __init__(self, element: str, reason: str) -> None:
        super().__init__(f"{element}: {reason}")
        self.element = element
        self.reason = reason
