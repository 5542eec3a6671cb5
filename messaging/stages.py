"""Which processes a message went through: the apps above say it, so that its page can tell."""

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
    """What became of the process, as a badge."""
    result: SafeString | str = ""
    """What was said of this message in it."""
    error: str = ""


StageFinder: TypeAlias = Callable[[Message, int], list[Stage]]
"""Return the newest stages of a message, at most so many."""

_journeys: list[tuple[str, StageFinder]] = []


def register_stages(permission: str, journey: StageFinder) -> None:
    """Add an app's part; it is shown to those who may see such rows."""
    _journeys.append((permission, journey))


def find_stages(message: Message, *, may: Callable[[str], bool], most: int) -> list[Stage]:
    found = [stage for permission, find in _journeys if may(permission) for stage in find(message, most)]
    return sorted(found, key=lambda stage: stage.at, reverse=True)
