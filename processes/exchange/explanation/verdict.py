"""Decide why a message has not reached its addressee: evidence in, one verdict out. No database, no clock."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from messaging.models import LastRequest, Message
from processes.exchange.models import ExchangeProcess, ProcessMessage

Process = ExchangeProcess.Status


class Verdict(StrEnum):
    """Stable words for machines; `words.py` has a sentence for each."""

    PROCESSED = "processed"
    FETCHED = "fetched"
    INCORRECT = "incorrect"
    UNREADABLE = "unreadable"
    FILE_MISSING = "file_missing"
    IN_DOUBT = "in_doubt"
    HANDED_OUT = "handed_out"
    PREPARED = "prepared"
    MOVING = "file_moving"
    MOVE_FAILED = "move_failed"
    SET_ASIDE = "set_aside"
    DATABASE_INACTIVE = "database_inactive"
    DEVICE_INACTIVE = "device_inactive"
    LANE_FAILED = "lane_failed"
    LANE_BUSY = "lane_busy"
    LEFT_OUT = "left_out"
    DEADLOCK = "deadlock"
    TIMED_OUT = "timed_out"
    INTERRUPTED = "interrupted"
    ROLLED_BACK = "rolled_back"
    NOT_ASKED = "not_asked"
    QUEUED = "queued"
    NOT_FETCHED = "not_fetched"
    UNEXPLAINED = "unexplained"


@dataclass(frozen=True)
class Case:
    """All that a verdict is made of."""

    message: Message
    holder: ExchangeProcess | None = None
    """The process that has it, or that wrote it."""
    last_entry: ProcessMessage | None = None
    """Its place in the last process that had it."""
    lane: ExchangeProcess | None = None
    """A live process that keeps its lane, without it."""
    is_database_active: bool = True
    is_device_active: bool = True
    newest: ExchangeProcess | None = None
    """The newest process that could have taken it, begun since it was accepted."""
    last_request: LastRequest | None = None
    """When the database last asked for messages, to within some seconds; None: nothing is recorded."""


@dataclass(frozen=True)
class Decision:
    verdict: Verdict
    since: datetime | None = None
    until: datetime | None = None


def decide(case: Case) -> Decision:
    """Return the one verdict of a case."""
    message = case.message
    match message.status:
        case Message.Status.PROCESSED:
            is_request = message.direction == Message.Direction.REQUEST
            return Decision(Verdict.PROCESSED if is_request else Verdict.FETCHED, since=message.settled_at)
        case Message.Status.INCORRECT:
            if message.file_missing_at is not None:
                return Decision(Verdict.FILE_MISSING, since=message.file_missing_at)
            is_ours = message.error_code == "unreadable"
            return Decision(Verdict.UNREADABLE if is_ours else Verdict.INCORRECT, since=message.settled_at)
        case Message.Status.IN_DOUBT:
            return Decision(Verdict.IN_DOUBT, since=None if case.holder is None else case.holder.ended_at)
        case Message.Status.IN_PROCESS:
            return _judge_process(case)
    return _judge_waiting(case)


def _judge_process(case: Case) -> Decision:
    process = case.holder
    if process is not None and process.status == Process.STARTED:
        return Decision(Verdict.HANDED_OUT, since=process.started_at, until=process.due_at)
    if process is not None and process.status == Process.READY_TO_COMMIT:
        return Decision(Verdict.PREPARED, since=process.ready_at, until=process.due_at)
    return Decision(Verdict.UNEXPLAINED)


def _judge_waiting(case: Case) -> Decision:
    message = case.message
    if message.moving_from:
        has_failed = case.holder is not None and case.holder.status == Process.FAILED
        return Decision(Verdict.MOVE_FAILED if has_failed else Verdict.MOVING, since=message.updated_at)
    if message.direction == Message.Direction.REPLY:
        verdict = Verdict.NOT_FETCHED if case.is_device_active else Verdict.DEVICE_INACTIVE
        return Decision(verdict, since=message.arrived_at)
    if message.set_aside_at is not None:
        return Decision(Verdict.SET_ASIDE, since=message.set_aside_at)
    if not case.is_database_active:
        return Decision(Verdict.DATABASE_INACTIVE)
    lane, last = case.lane, case.last_entry
    if lane is not None and lane.status == Process.FAILED:
        return Decision(Verdict.LANE_FAILED, since=lane.started_at)
    if lane is not None:
        return Decision(Verdict.LANE_BUSY, since=lane.started_at, until=lane.due_at)
    if case.newest is None:
        return Decision(Verdict.NOT_ASKED, since=message.accepted_at)
    # A later process of its lane that passed it over has taken those before it.
    if last is not None and last.process_id == case.newest.pk:
        return _judge_setback(last, case.newest)
    return Decision(Verdict.QUEUED, since=message.accepted_at)


_SETBACKS = {
    Process.TIMED_OUT: Verdict.TIMED_OUT,
    Process.INTERRUPTED: Verdict.INTERRUPTED,
    Process.ROLLED_BACK: Verdict.ROLLED_BACK,
}


def _judge_setback(entry: ProcessMessage, process: ExchangeProcess) -> Decision:
    """Say what kept the last process that had it from finishing it."""
    if entry.is_left_out:
        return Decision(Verdict.LEFT_OUT, since=process.started_at)
    ended = _SETBACKS.get(Process(process.status))
    if ended is None and entry.result == ProcessMessage.Result.DEADLOCK:
        ended = Verdict.DEADLOCK
    return Decision(ended or Verdict.UNEXPLAINED, since=process.ended_at)
