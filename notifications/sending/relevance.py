"""Whether a delivery is still relevant is checked at every attempt, by checks that the apps above register."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

PendingDelivery: TypeAlias = tuple[int, int, str]
"""A delivery: its id, its endpoint, its subject."""

RelevanceCheck: TypeAlias = Callable[[Sequence[PendingDelivery]], dict[int, str]]
"""Return the cancel reason, by id, of each delivery that is not relevant any more."""

_checks: list[RelevanceCheck] = []


def register_relevance_check(check: RelevanceCheck) -> None:
    _checks.append(check)


def find_cancel_reasons(deliveries: Iterable[PendingDelivery]) -> dict[int, str]:
    """Return the cancel reason, by id, of each delivery that is not to be sent any more."""
    pending = list(deliveries)
    reasons: dict[int, str] = {}
    for check in _checks if pending else ():
        reasons |= check(pending)
    return reasons
