"""How often work is tried and when again: `postern:retry` of a task that a worker or a handler does.

- `3`: three attempts in all, each at once after the one that has failed.
- `R3/PT10M`: three attempts in all, ten minutes apart.
- `PT1M,PT5M`: one attempt more than there are pauses; the last pause repeats where attempts are left.
"""

import re
from datetime import UTC, datetime, timedelta

from processes.workflows.engine.bpmn.extensions import Extensions
from processes.workflows.engine.bpmn.file import Subject, quote
from processes.workflows.engine.definition import RetryPlan
from processes.workflows.engine.iso import NotIso, parse_duration

MAX_TRIES = 1_000
MAX_PAUSES = 20
LONGEST_PAUSE = timedelta(days=30)


class NotRetries(ValueError):
    """The text does not say how often work is tried; the message says what one does."""


def read_retries(subject: Subject, extensions: Extensions) -> RetryPlan | None:
    """Return how often the work of a task is tried; None where the file does not say."""
    text = extensions.value("retry")
    if not text:
        return None
    try:
        return parse_retries(text)
    except NotRetries as error:
        subject.refuse(f"The retries cannot be read, {quote(text)}: {error}", extensions.find("retry"))
        return None


_TRIES = re.compile(r"(?:(\d{1,5})|R(\d{1,5})/([^/,]+))", re.ASCII)


def parse_retries(text: str) -> RetryPlan:
    """Parse a number of attempts, a cycle, or a list of pauses; raises NotRetries."""
    text = text.strip()
    match = _TRIES.fullmatch(text)
    pauses = ([match[3]] if match[3] else []) if match else text.split(",")
    tries = int(match[1] or match[2]) if match else len(pauses) + 1
    if not 1 <= tries <= MAX_TRIES or len(pauses) > MAX_PAUSES:
        raise NotRetries(f"there are 1 to {MAX_TRIES} attempts, and at most {MAX_PAUSES} pauses.")
    return RetryPlan(tries, tuple(_read_pause(pause.strip()) for pause in pauses))


def _read_pause(text: str) -> float:
    # From a fixed day, because a month has no length of its own.
    day = datetime(2030, 1, 1, tzinfo=UTC)
    try:
        pause = parse_duration(text).after(day) - day
    except NotIso as error:
        raise NotRetries(str(error)) from error
    if pause > LONGEST_PAUSE:
        raise NotRetries(f"a pause is at most {LONGEST_PAUSE.days} days.")
    return pause.total_seconds()
