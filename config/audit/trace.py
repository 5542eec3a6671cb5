"""The trace: everything that one call, message or job caused, in order of time. Each app registers what it can tell."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import msgspec
from django.db.models import QuerySet

MOST = 1000
"""Of each kind: a call that caused more is told by its beginning."""
PART_BYTES = 2_097_152
"""What the data of one app's part may weigh; past it the part ends too."""
LANES = (
    "signal",
    "state",
    "change",
    "log",
    "event",
    "delivery",
    "session",
    "alert",
    "message",
    "process",
    "workflow",
    "effect",
    "change_set",
)
"""Where a step is drawn. Of two steps at the same moment that of the earlier lane caused the other."""
LANE_OF_KIND = {"rejected": "signal", "attempt": "delivery", "reply": "message", "coordination": "change_set"}
"""Kinds that share a lane; every other one has that of its own name."""


ATTEMPT = "attempt"


class Standing(StrEnum):
    """Whether something has come to its end, and to which."""

    DONE = "done"
    OPEN = "open"
    FAILED = "failed"


@dataclass(frozen=True)
class Upcoming:
    """What is still to come of a step."""

    what: str
    at: datetime | None = None
    """None: when a person or another system does its part."""


@dataclass(frozen=True)
class Related:
    """Another chain that this one comes from or goes on in."""

    what: str
    correlation_id: str


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
    actor: str = ""
    """Who did it, where it was a person or a key."""
    standing: Standing | None = None
    upcoming: tuple[Upcoming, ...] = ()
    related: tuple[Related, ...] = ()
    permission: str = ""
    """Who may see it, beside the right to its source; empty: nobody else is asked."""
    continues: bool = False
    """Whether it is about the row of the step of its kind before it: how that went on, or ended."""

    @property
    def lane(self) -> str:
        return LANE_OF_KIND.get(self.kind, self.kind)


@dataclass(frozen=True)
class Trace:
    correlation_id: str
    steps: list[TraceStep]
    is_cut: bool
    """Whether there is more than is told."""

    @property
    def outcome(self) -> Standing | None:
        """The worst of what is known: something failed, something is still to come, or all is done."""
        # A failed attempt is made again: its delivery says how it ended.
        standings = {step.standing for step in self.steps if step.kind != ATTEMPT}
        worst = (Standing.FAILED, Standing.OPEN, Standing.DONE)
        return next((each for each in worst if each in standings), None)

    @property
    def upcoming(self) -> list[tuple[Upcoming, TraceStep]]:
        """What is still to come, each with the step it belongs to: by time, what waits for others last."""
        found = [(each, step) for step in self.steps for each in step.upcoming]
        return sorted(found, key=lambda pair: (pair[0].at is None, pair[0].at or pair[1].at))

    @property
    def related(self) -> list[Related]:
        """Each other chain once."""
        found = {each.correlation_id: each for step in reversed(self.steps) for each in step.related}
        return [each for name, each in reversed(found.items()) if name not in ("", self.correlation_id)]

    def with_gaps(self) -> list[tuple[TraceStep, timedelta]]:
        """Return each step with the time since the one before it."""
        before = [step.at for step in (*self.steps[:1], *self.steps[:-1])]
        return [(step, step.at - at) for step, at in zip(self.steps, before, strict=True)]

    @property
    def duration(self) -> timedelta:
        return self.steps[-1].at - self.steps[0].at if self.steps else timedelta()


@dataclass(frozen=True)
class TraceSource:
    """What one app knows of a chain; it is shown to those who may see such rows."""

    permission: str
    """Empty: each step says who may see it."""
    find: Callable[[str, int], Iterable[TraceStep]]
    """Return what carries this correlation id: at most so many of each kind, the oldest first."""
    carriers: tuple[tuple[str, QuerySet[Any]], ...] = ()
    """The rows that carry one, each by an index of `correlation_id`, with the permission to see them."""


_tracings: list[TraceSource] = []


def register_trace_source(tracing: TraceSource) -> None:
    """Add an app's part. Parts are asked in the order in which the apps stand on each other: causes before effects."""
    _tracings.append(tracing)


def read_trace(correlation_id: str, *, may: Callable[[str], bool], most: int = MOST) -> Trace:
    """Return the chain in order of time; of two at the same moment the one that causes the other stands first."""
    once: dict[tuple[str, int | str, datetime], TraceStep] = {}
    is_cut = False
    for tracing in _tracings:
        if tracing.permission and not may(tracing.permission):
            continue
        # One more than is told shows whether there are more.
        part = _Part(tracing.find(correlation_id, most + 1), most)
        # Two apps may know of the same row: a line of the log belongs to its call and to its process.
        shown = (step for step in part if not step.permission or may(step.permission))
        once |= {(step.kind, step.id, step.at): step for step in shown}
        is_cut = is_cut or part.is_cut
    places = {lane: place for place, lane in enumerate(LANES)}
    steps = sorted(once.values(), key=lambda step: (step.at, places.get(step.lane, len(LANES))))
    return Trace(correlation_id, steps, is_cut=is_cut)


def is_traced(correlation_id: str, *, may: Callable[[str], bool]) -> bool:
    """Return whether anything that one may see carries this correlation id: one query."""
    carriers = [rows for tracing in _tracings for permission, rows in tracing.carriers if may(permission)]
    named = [rows.filter(correlation_id=correlation_id).order_by().values_list("correlation_id") for rows in carriers]
    return bool(named) and bool(named[0].union(*named[1:], all=True)[:1])


class _Part:
    """The steps of one app, of so many rows of each kind, until they weigh too much, but at least one."""

    def __init__(self, steps: Iterable[TraceStep], most: int) -> None:
        self._steps, self._most = steps, most
        self.is_cut = False

    def __iter__(self) -> Iterator[TraceStep]:
        used, rows = 0, Counter[str]()
        for place, step in enumerate(self._steps):
            rows[step.kind] += not step.continues
            if rows[step.kind] > self._most:
                self.is_cut = True
                continue
            used += len(msgspec.json.encode(step.data, enc_hook=str))
            if place and used > PART_BYTES:
                self.is_cut = True
                return
            yield step
