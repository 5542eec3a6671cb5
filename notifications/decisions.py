"""Alerts that stand for a decision of staff: making the decision closes them, and nothing else does before."""

from collections.abc import Callable
from typing import TypeAlias

Awaits: TypeAlias = Callable[[str], bool]
"""Return whether the subject of an alert still waits for its decision."""

_registered: dict[str, Awaits] = {}


def register_decision(kind: str, awaits: Awaits) -> None:
    """Register a kind of alert that is closed by its decision alone."""
    _registered[kind] = awaits


def awaits_decision(kind: str, subject: str) -> bool:
    """Return whether an alert stands for a decision that nobody has made yet.

    An alert whose decision has been made is an ordinary one: whatever has left it open, somebody can close it.
    """
    awaits = _registered.get(kind)
    return awaits is not None and awaits(subject)
