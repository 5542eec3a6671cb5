class CommandRejected(Exception):
    """The command does not fit the state the instance is in."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class CommandFailed(Exception):
    """The command was tried and could not go through; nothing of it is left."""

    def __init__(self, element: str, reason: str) -> None:
        super().__init__(f"{element}: {reason}")
        self.element = element
        self.reason = reason
