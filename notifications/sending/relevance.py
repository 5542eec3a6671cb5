"""Whether a message is still wanted is asked at every attempt; who owes messages registers who can tell."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

PendingDelivery: TypeAlias = tuple[int, int, str]
"""A delivery: its id, its endpoint, its subject."""

RelevanceCheck: TypeAlias = Callable[[Sequence[PendingDelivery]], dict[int, str]]
"""Return, by id, why a delivery is not wanted any more; what the judge knows nothing of it leaves out."""

_judges: list[RelevanceCheck] = []


def register_relevance_check(judge: RelevanceCheck) -> None:
    _judges.append(judge)


def find_cancel_reasons(questions: Iterable[PendingDelivery]) -> dict[int, str]:
    """Return, by id, why deliveries are not to be sent any more."""
    asked = list(questions)
    reasons: dict[int, str] = {}
    for judge in _judges if asked else ():
        reasons |= judge(asked)
    return reasons
