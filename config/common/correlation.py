"""The id that ties together everything that one call, message or job caused."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from config.common.ids import new_id

HEADER = b"x-correlation-id"
LONGEST = 64
PATTERN = re.compile(rf"[A-Za-z0-9._-]{{8,{LONGEST}}}")

_current: ContextVar[str] = ContextVar("correlation_id", default="")


def new_correlation_id() -> str:
    return new_id().hex


def correlation_id() -> str:
    """Return the current id; outside of any call or job it is empty."""
    return _current.get()


@contextmanager
def correlated(value: str | None = None) -> Iterator[str]:
    """Run the block under the given id, or under a new one."""
    chosen = value or new_correlation_id()
    token = _current.set(chosen)
    try:
        yield chosen
    finally:
        _current.reset(token)
