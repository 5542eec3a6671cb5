"""Words and badges of the pages: the status and progress of a process, the results of its messages."""

from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import pgettext

from config.admin_base.pages import badge
from messaging.admin.presentation import format_duration
from processes.exchange.models import ExchangeProcess, ProcessMessage

Status, Result = ExchangeProcess.Status, ProcessMessage.Result
STATUS_COLOURS = {
    Status.STARTED: "primary",
    Status.READY_TO_COMMIT: "info",
    Status.CLEANUP: "info",
    Status.FAILED: "danger",
    Status.DONE: "success",
    Status.TIMED_OUT: "default",
    Status.INTERRUPTED: "default",
    Status.ROLLED_BACK: "default",
    Status.IN_DOUBT: "warning",
}
RESULT_COLOURS = {Result.PROCESSED: "success", Result.DEADLOCK: "warning", Result.INCORRECT: "danger"}
WAY = (Status.STARTED, Status.READY_TO_COMMIT, Status.CLEANUP, Status.DONE)


@dataclass(frozen=True)
class Stop:
    """A status on the way from API_1 to the last file in its folder."""

    name: str
    state: str
    """done, now, next; bad where it ended, doubt where nobody knows."""
    at: datetime | None = None
    until: datetime | None = None
    """The ERP's deadline, while the process waits for it."""


def status_badge(process: ExchangeProcess) -> SafeString:
    return badge(process.get_status_display(), STATUS_COLOURS[Status(process.status)])


def result_badge(entry: ProcessMessage) -> SafeString | str:
    if entry.is_left_out:
        return badge(pgettext("message of a process", "left out"), "default")
    colour = RESULT_COLOURS.get(Result(entry.result))
    return badge(entry.get_result_display(), colour) if colour else ""


def progress_stops(process: ExchangeProcess) -> list[Stop]:
    """Return the statuses that the process has been in, is in and would be in."""
    if process.status in WAY:
        here = WAY.index(Status(process.status))
        return [_stop(process, each, number, here) for number, each in enumerate(WAY)]
    been = [Status.STARTED] if process.ready_at is None else [Status.STARTED, Status.READY_TO_COMMIT]
    state = "doubt" if process.status == Status.IN_DOUBT else "bad"
    last = Stop(str(Status(process.status).label), state, process.ended_at)
    ahead = [Stop(str(Status.DONE.label), "next")] if process.status in (Status.IN_DOUBT, Status.FAILED) else []
    return [*(_stop(process, each, 0, 1) for each in been), last, *ahead]


def draw_progress(process: ExchangeProcess) -> SafeString:
    """Return the progress as a row of dots."""
    steps = [(step.state, step.name) for step in progress_stops(process)]
    dots = format_html_join("", '<i data-step="{}" title="{}"></i>', steps)
    return format_html('<span class="pst-dots">{}</span>', dots)


def format_process_duration(process: ExchangeProcess) -> str:
    return format_duration((process.ended_at or timezone.now()) - process.started_at)


def _stop(process: ExchangeProcess, status: ExchangeProcess.Status, number: int, here: int) -> Stop:
    times = {
        Status.STARTED: process.started_at,
        Status.READY_TO_COMMIT: process.ready_at,
        Status.DONE: process.ended_at,
    }
    if number > here:
        return Stop(str(status.label), "next")
    is_over = number < here or status == Status.DONE
    waits = not is_over and status in (Status.STARTED, Status.READY_TO_COMMIT)
    state = "done" if is_over else "now"
    return Stop(str(status.label), state, times.get(status), process.due_at if waits else None)
