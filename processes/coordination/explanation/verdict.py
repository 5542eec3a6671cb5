"""Decide why a reader does not have a change set: evidence in, one verdict out. No database, no clock."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from processes.coordination.models import WriterEventReader
from processes.coordination.protocol.statuses import EventStatus
from processes.coordination.selectors import EventOverview, ReaderOverview

Reader = WriterEventReader.Verdict


class Verdict(StrEnum):
    """Stable words for machines; `words.py` has a sentence for each."""

    HAS_IT = "has_it"
    CANCELLED = "cancelled"
    COMPENSATION_FAILED = "compensation_failed"
    ROLE_SILENT = "role_silent"
    ON_THE_WAY = "on_the_way"
    REFUSED = "refused"
    REFUSED_ELSEWHERE = "refused_elsewhere"
    LATE = "late"
    BEHIND = "behind_another"
    IN_LINE = "in_line"
    READER_WORKING = "reader_working"
    WAITS_FOR_READER = "waits_for_reader"
    COMMITTING = "committing"


@dataclass(frozen=True)
class Case:
    """All that a verdict is made of."""

    view: EventOverview
    reader: ReaderOverview
    silent: Collection[tuple[str, datetime | None]] = ()
    """Roles without a recent heartbeat, and when each was last heard of."""
    progress: Mapping[str, int] = field(default_factory=dict)
    """How far each reader has come, as the Coordinator counts it."""
    behind: int | None = None
    """The change set that keeps a row of this one, or stands before it in the line."""


@dataclass(frozen=True)
class Decision:
    verdict: Verdict
    since: datetime | None = None
    name: str = ""
    """The role or reader that it is about."""
    reason: str = ""


def decide(case: Case) -> Decision:
    """Return the one verdict of a case."""
    view, reader = case.view, case.reader
    if reader.verdict == Reader.COMMITTED or view.status == EventStatus.COMMITTED:
        return Decision(Verdict.HAS_IT, since=reader.ended_at or view.event.ended_at)
    if view.status == EventStatus.COMPENSATION_FAILED:
        return Decision(Verdict.COMPENSATION_FAILED, reason=view.event.reason)
    if view.status in (EventStatus.CANCELED, EventStatus.CANCELING):
        reason = view.event.cancel_reason or view.event.reason or (view.coordinated.reason if view.coordinated else "")
        return Decision(Verdict.CANCELLED, since=view.event.ended_at, reason=reason)
    return _judge_disagreement(case) or _judge_silence(case) or _judge_progress(case)


def _judge_disagreement(case: Case) -> Decision | None:
    """A refusal, or what stands behind one, waits however alive all roles are."""
    coordinated = case.view.coordinated
    refusing = [each for each in case.view.readers if each.verdict == Reader.REFUSED]
    own = next((each for each in refusing if each.name == case.reader.name), None)
    if own is not None:
        return Decision(Verdict.REFUSED, since=own.answered_at, name=own.name, reason=own.reason)
    if refusing:
        first = refusing[0]
        return Decision(Verdict.REFUSED_ELSEWHERE, since=first.answered_at, name=first.name, reason=first.reason)
    if coordinated is None:
        return None
    if coordinated.is_waiting:
        return Decision(Verdict.LATE, reason=coordinated.reason)
    return Decision(Verdict.BEHIND) if coordinated.is_behind else None


def _judge_silence(case: Case) -> Decision | None:
    """Return the silent role that the change set waits for; one whose part is done is not waited for."""
    silent = dict(case.silent)
    wanted = ["coordinator", "writer", f"reader/{case.reader.name}"]
    wanted += [f"reader/{each.name}" for each in case.view.readers if each.verdict == Reader.WAITING]
    name = next((name for name in wanted if name in silent), None)
    return None if name is None else Decision(Verdict.ROLE_SILENT, since=silent[name], name=name)


def _judge_progress(case: Case) -> Decision:
    view, coordinated = case.view, case.view.coordinated
    if coordinated is None or coordinated.status in (EventStatus.CREATED, EventStatus.SAVING):
        return Decision(Verdict.ON_THE_WAY)
    if coordinated.status == EventStatus.SAVED:
        return Decision(Verdict.IN_LINE if case.behind is not None else Verdict.ON_THE_WAY)
    if view.status == EventStatus.COMMITTING:
        return Decision(Verdict.COMMITTING)
    own = case.progress.get(case.reader.name, 0)
    slower = [each.name for each in view.readers if case.progress.get(each.name, 0) < own]
    if slower:
        return Decision(Verdict.WAITS_FOR_READER, name=slower[0])
    if case.reader.verdict == Reader.WAITING:
        return Decision(Verdict.READER_WORKING, name=case.reader.name)
    return Decision(Verdict.COMMITTING)
