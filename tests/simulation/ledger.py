"""What callers know of their calls: those that were answered have been accepted; of the others nobody can say."""

from collections import Counter
from collections.abc import Container, Hashable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import Error


class Ledger:
    def __init__(self) -> None:
        self.accepted = list[Hashable]()
        self.tried = list[Hashable]()
        self._numbers = Counter[str]()

    def next_number(self, name: str) -> int:
        """Count up; what was tried once is not tried again under the same number."""
        self._numbers[name] += 1
        return self._numbers[name]

    @contextmanager
    def attempt(self, key: Hashable, *, failures: tuple[type[BaseException], ...] = (Error,)) -> Iterator[None]:
        """Note what becomes of a call; a failure of the database is answered, and its outcome is unknown."""
        self.tried.append(key)
        try:
            yield
        except failures:
            return
        self.accepted.append(key)

    def check(self, found: Container[Any]) -> Iterator[str]:
        for key in self.accepted:
            if key not in found:
                yield f"{key} was accepted and is lost"
