"""A disk that fails at the n-th step, under the modules that write, move and read message files."""

import errno
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

Error = int | type[BaseException]
STEPS = ("open", "write", "fsync", "rename", "link", "unlink", "mkdir")
MODULES = ("config.common.files", "messaging.files.drafts", "messaging.files.placement", "messaging.files.reader")


class FailingOs:
    """The module `os`, whose named steps fail from the n-th on, so many times."""

    def __init__(self, error: Error, at: int, names: Collection[str], times: int, about: str) -> None:
        self._error, self._at, self._names, self._times, self._about = error, at, names, times, about
        self.steps = 0

    @property
    def has_failed(self) -> bool:
        return self.steps >= self._at

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        if name not in self._names:
            return real

        def step(*arguments: Any, **options: Any) -> Any:
            self.steps += self._about in str(arguments)
            if self._at <= self.steps < self._at + self._times and self._about in str(arguments):
                raise self._failure()
            return real(*arguments, **options)

        return step

    def _failure(self) -> BaseException:
        if isinstance(self._error, int):
            return OSError(self._error, os.strerror(self._error))
        return self._error()


@contextmanager
def failing(
    error: Error = errno.ENOSPC,
    *,
    at: int = 1,
    names: Collection[str] = STEPS,
    times: int = 1,
    modules: Collection[str] = MODULES,
    about: str = "",
) -> Iterator[FailingOs]:
    """Let the steps of these names fail from the n-th on; by default one, whatever it is and whatever it is about."""
    disk = FailingOs(error, at, names, times, about)
    with pytest.MonkeyPatch.context() as patch:
        for module in modules:
            patch.setattr(f"{module}.os", disk)
        yield disk
