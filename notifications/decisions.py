"""Alerts that stand for a decision: the decision closes them, and no hand does while it is still to be made."""

from collections.abc import Callable
from typing import TypeAlias

Awaits: TypeAlias = Callable[[str], bool]
"""Say whether the subject of an alert still waits for its decision."""

_registered: dict[str, Awaits] = {}


def register_decision(kind: str, awaits: Awaits) -> None:
    """Name a kind of alert that its decision alone closes."""
    _registered[kind] = awaits


def awaits_decision(kind: str, subject: str) -> bool:
    """Say whether an alert stands for a decision that nobody has made yet.

    One whose fact is over is an ordinary alert again: whatever has left it open, somebody can close it.
    """
    awaits = _registered.get(kind)
    return awaits is not None and awaits(subject)
