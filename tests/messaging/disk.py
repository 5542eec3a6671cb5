"""A disk that fails at the n-th step, under the modules that write, move and read message files."""

import errno
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

STEPS = ("open", "write", "fsync", "rename", "link", "unlink", "mkdir")
MODULES = ("config.common.files", "messaging.files.writing", "messaging.files.placing", "messaging.files.reading")


class FailingOs:
    """The module `os`, whose named steps fail from the n-th on, so many times."""

    def __init__(self, error: int, at: int, names: Collection[str], times: int) -> None:
        self._error, self._at, self._names, self._times = error, at, names, times
        self.steps = 0

    @property
    def has_failed(self) -> bool:
        return self.steps >= self._at

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        if name not in self._names:
            return real

        def step(*arguments: Any, **options: Any) -> Any:
            self.steps += 1
            if self._at <= self.steps < self._at + self._times:
                raise OSError(self._error, os.strerror(self._error))
            return real(*arguments, **options)

        return step


@contextmanager
def failing(
    error: int = errno.ENOSPC,
    *,
    at: int = 1,
    names: Collection[str] = STEPS,
    times: int = 1,
    modules: Collection[str] = MODULES,
) -> Iterator[FailingOs]:
    """Let the steps of these names fail from the n-th on; by default one, whatever it is."""
    disk = FailingOs(error, at, names, times)
    with pytest.MonkeyPatch.context() as patch:
        for module in modules:
            patch.setattr(f"{module}.os", disk)
        yield disk
