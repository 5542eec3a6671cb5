"""Errors of expressions: malformed texts, and evaluations that fail."""


class ExpressionError(Exception):
    """The text is no expression, or is past the limits; `position` counts characters from 0."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(message, position)
        self.message = message
        self.position = position

    def __str__(self) -> str:
        return f"{self.message} (character {self.position + 1})"


class ExpressionFailed(Exception):
    """The expression has no value for these names."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
