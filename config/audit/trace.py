"""The trace: everything that one call, message or job caused, in order of time. Each app registers what it can tell."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec

MOST = 1000
"""Of each kind: a call that caused more is told by its beginning."""
PART_BYTES = 2_097_152
"""What the data of one app's part may weigh; past it the part ends too."""


@dataclass(frozen=True)
class TraceStep:
    at: datetime
    kind: str
    id: int | str
    """As the calls about that kind name it."""
    summary: str
    outcome: str | None = None
    """What became of it; None where nothing is to become of it."""
    data: dict[str, Any] = field(default_factory=dict)
    page: str = ""
    """The address of its page in the admin."""


@dataclass(frozen=True)
class TraceSource:
    """What one app knows of a chain; it is shown to those who may see such rows."""

    permission: str
    find: Callable[[str, int], Iterable[TraceStep]]
    """Return what carries this correlation id: at most so many of each kind, the oldest first."""


_tracings: list[TraceSource] = []


def register_trace_source(tracing: TraceSource) -> None:
    """Add an app's part. Parts are asked in the order in which the apps stand on each other: causes before effects."""
    _tracings.append(tracing)


def collect_trace(correlation_id: str, *, may: Callable[[str], bool], most: int = MOST) -> list[TraceStep]:
    """Return the chain in order of time; of two at the same moment the one that causes the other stands first."""
    parts = [tracing.find(correlation_id, most) for tracing in _tracings if may(tracing.permission)]
    return sorted((step for part in parts for step in _within_bytes(part)), key=lambda step: step.at)


def _within_bytes(steps: Iterable[TraceStep]) -> Iterator[TraceStep]:
    """Take steps until they weigh too much, but at least one."""
    used = 0
    for place, step in enumerate(steps):
        used += len(msgspec.json.encode(step.data, enc_hook=str))
        if place and used > PART_BYTES:
            return
        yield step
