"""The far side of repeat sessions: a handler that notes what each repeat has shown it, and what it was answered."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from notifications.errors import SessionCode
from notifications.sessions.handlers import SessionView
from notifications.sessions.operations import Append, Delete, Finish, Operation, RefuseReason, Rewrite
from tests.simulation.scheduler import Scheduler

SLOW_SECONDS = 45.0
"""Longer than a lease: it must be renewed meanwhile."""


@dataclass
class Write:
    """A record that a caller or a handler has written to a session."""

    session: int
    record: str
    change: int
    """The change that the session has with it."""
    is_accepted: bool = False
    """Otherwise nobody can say."""


@dataclass
class Repeat:
    """One repeat, as its handler saw it."""

    at: float
    process: str
    session: int
    fence: int
    records: list[str]
    """What it was shown, and what it has added."""
    ended_at: float | None = None
    wants_end: bool = False
    is_ended: bool = False
    """Whether it was told that the session is gone."""


@dataclass
class FarSide:
    scheduler: Scheduler
    repeats: list[Repeat] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)

    def make_handler(self, view: SessionView) -> "_Handler":
        repeat = Repeat(
            self.scheduler.now, self.scheduler.process().name, view.id, view.fence, [str(each) for each in view.records]
        )
        self.repeats.append(repeat)
        self.scheduler.tell("HANDLER BEGINS", f"session {view.id}, fence {view.fence}, {view.records}")
        return _Handler(self, repeat)


class _Handler:
    def __init__(self, far_side: FarSide, repeat: Repeat) -> None:
        self._far_side, self._scheduler, self._repeat = far_side, far_side.scheduler, repeat
        self._change = repeat.fence
        self._steps = self._work()

    def next_operation(self) -> Operation | None:
        repeat = self._repeat
        try:
            operation = next(self._steps)
        except BaseException:
            repeat.ended_at = self._scheduler.now
            raise
        if not isinstance(operation, Append):
            repeat.ended_at, repeat.wants_end = self._scheduler.now, isinstance(operation, Delete)
            # Between the end and its record: where a worker that stands still does the most harm.
            self._scheduler.point("handler ends", operation.op, weight=12)
        return operation

    def cancel(self) -> None:
        """It goes on: a handler is asked, and need not obey."""

    def _work(self) -> Iterator[Operation]:
        if self._scheduler.is_calm:
            yield _End(self._repeat)
            return
        way = self._scheduler.chance("way")
        time.sleep(0.05 + self._scheduler.chance("work") ** 2 * 12)
        if 0.5 < way < 0.75:
            yield self._edit(_Rewrite if way < 0.6 else _Append)
            time.sleep(self._scheduler.chance("work") * 4)
        if way < 0.15:
            raise RuntimeError("refused by the far side")
        if way < 0.25:
            yield Finish()
        if 0.7 < way < 0.8:
            time.sleep(SLOW_SECONDS)
        yield _End(self._repeat)

    def _edit(self, kind: "type[_Append | _Rewrite]") -> Operation:
        repeat = self._repeat
        self._change += 1
        write = Write(repeat.session, f"handler/{repeat.session}/{repeat.fence}", self._change)
        records = [*repeat.records, write.record] if kind is _Rewrite else [write.record]
        repeat.records.append(write.record)
        self._far_side.writes.append(write)
        return kind(records, write, self._far_side.writes)


class _Append(Append):
    def __init__(self, records: Sequence[str], write: Write, writes: list[Write]) -> None:
        super().__init__(records)
        self._write, self._writes = write, writes

    def acknowledge(self) -> None:
        super().acknowledge()
        self._write.is_accepted = True

    def refuse(self, reason: RefuseReason) -> None:
        super().refuse(reason)
        if reason.session_code is not SessionCode.INTERNAL:
            self._writes.remove(self._write)

    def cancel(self) -> None:
        super().cancel()
        self._writes.remove(self._write)


class _Rewrite(_Append, Rewrite):
    """Replaces the records by what it was shown and one more."""


class _End(Delete):
    def __init__(self, repeat: Repeat) -> None:
        super().__init__()
        self._repeat = repeat

    def acknowledge(self) -> None:
        super().acknowledge()
        self._repeat.is_ended = True
