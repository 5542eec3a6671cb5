"""Whether a message is still wanted is asked at every attempt; who owes messages registers who can tell."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

Question: TypeAlias = tuple[int, int, str]
"""A delivery: its id, its endpoint, its subject."""

Judge: TypeAlias = Callable[[Sequence[Question]], dict[int, str]]
"""Return, by id, why a delivery is not wanted any more; what the judge knows nothing of it leaves out."""

_judges: list[Judge] = []


def judge_wanted(judge: Judge) -> None:
    _judges.append(judge)


def unwanted(questions: Iterable[Question]) -> dict[int, str]:
    """Return, by id, why deliveries are not to be sent any more."""
    asked = list(questions)
    reasons: dict[int, str] = {}
    for judge in _judges if asked else ():
        reasons |= judge(asked)
    return reasons
