"""The processes that a message went through. The apps above register them, for the page of the message."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from django.utils.safestring import SafeString

from messaging.models import Message


@dataclass(frozen=True)
class Stage:
    at: datetime
    name: str
    page: str
    """The address of its page in the admin."""
    status: SafeString
    """The outcome of the process, as a badge."""
    result: SafeString | str = ""
    """The result of this message in it."""
    error: str = ""


StageFinder: TypeAlias = Callable[[Message, int], list[Stage]]
"""Return the newest stages of a message, at most so many."""

_finders: list[tuple[str, StageFinder]] = []


def register_stages(permission: str, finder: StageFinder) -> None:
    """Add the stages of an app; they are shown to people with this permission."""
    _finders.append((permission, finder))


def find_stages(message: Message, *, may: Callable[[str], bool], most: int) -> list[Stage]:
    found = [stage for permission, find in _finders if may(permission) for stage in find(message, most)]
    return sorted(found, key=lambda stage: stage.at, reverse=True)
