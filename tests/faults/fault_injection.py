"""Inject one fault at the n-th side effect of the product: a commit, fsync, rename, link, unlink, answer or task."""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Any
from unittest.mock import patch

from django.db import OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper

COMMIT: Callable[[Any], Any] = getattr(BaseDatabaseWrapper, "_commit")  # noqa: B009


class ProcessKilled(BaseException):
    """Stands for `kill -9`: nothing of the product catches it."""


class FaultMode(StrEnum):
    FAILS = "the step fails"
    DIES_BEFORE = "the process dies before the step"
    DIES_AFTER = "the process dies after the step"


class FaultInjector:
    """Counts the side effects while the product is at work, and makes one of them fail or kill the process."""

    def __init__(self, at: int = 0, mode: FaultMode = FaultMode.FAILS) -> None:
        self._at, self._mode = at, mode
        self._is_at_work = False
        self.steps: list[str] = []

    @property
    def is_done(self) -> bool:
        return len(self.steps) >= self._at

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Count side effects here; outside, the test itself is at work."""
        self._is_at_work = True
        try:
            yield
        finally:
            self._is_at_work = False

    @contextmanager
    def in_place(self) -> Iterator[None]:
        with (
            patch.object(os, "fsync", self._watch("fsync", os.fsync)),
            patch.object(os, "rename", self._watch("rename", os.rename)),
            patch.object(os, "link", self._watch("link", os.link)),
            patch.object(os, "unlink", self._watch("unlink", os.unlink)),
            patch.object(BaseDatabaseWrapper, "_commit", self._watch_commit(COMMIT)),
        ):
            yield

    def step(self, kind: str, do: Callable[[], Any] = lambda: None) -> Any:
        """Do a step, unless it is the one that goes wrong."""
        if not self._is_at_work:
            return do()
        self.steps.append(kind)
        if len(self.steps) != self._at:
            return do()
        if self._mode == FaultMode.FAILS:
            raise _failure(kind)
        if self._mode == FaultMode.DIES_AFTER:
            do()
        raise ProcessKilled(kind)

    def _watch(self, kind: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*args: Any, **kwargs: Any) -> Any:
            return self.step(kind, lambda: original(*args, **kwargs))

        return watched

    def _watch_commit(self, original: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def watched(connection: Any) -> Any:
            try:
                return self.step("commit", lambda: original(connection))
            except ProcessKilled:
                connection._rollback()  # as the server does when the line breaks; a commit that came first stands
                raise

        return watched


def _failure(kind: str) -> BaseException:
    if kind == "commit":
        return OperationalError("the connection was cut")
    if kind in ("answer", "task"):
        return ProcessKilled(kind)  # an answer or a task that fails is one that is lost
    return OSError(errno.EIO, "injected")
