"""Errors of FEEL: malformed texts, and evaluations past their limits. Anything else that has no value is null."""


class FeelError(Exception):
    """The text is no FEEL, or is past the limits; `position` counts characters from 0."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message, position)
        self.message = message
        self.position = position

    def __str__(self) -> str:
        return f"{self.message} (character {self.position + 1})"


class FeelFailed(Exception):
    """The evaluation would take more steps, items or characters than it may."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
