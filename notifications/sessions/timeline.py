"""The timeline of sessions: what happened to each, the newest part of it."""

from collections.abc import Collection

from config.common.text import clean_text, clean_values
from notifications.models import RepeatSession, SessionStep

LONGEST_TIMELINE = 100
DETAIL = 300


def write_step(session: RepeatSession, what: SessionStep.What, detail: str = "") -> None:
    write_steps([SessionStep(session=session, what=what, detail=detail)])


def write_steps(steps: Collection[SessionStep]) -> None:
    """Write lines, and now and then forget the oldest of a session: a theme may allow a million repeats."""
    for step in steps:
        step.detail, step.verdicts = clean_text(step.detail, DETAIL), clean_values(step.verdicts)
    SessionStep.objects.bulk_create(steps)
    # A repeat that fails raises the change by two, so that one of any two neighbours comes up.
    for session_id in {step.session_id for step in steps if step.session.change % 50 < 2}:
        _forget_oldest(session_id)


def _forget_oldest(session_id: int) -> None:
    kept = SessionStep.objects.filter(session=session_id).order_by("-pk").values_list("pk", flat=True)
    last = kept[LONGEST_TIMELINE - 1 : LONGEST_TIMELINE].first()
    if last is not None:
        SessionStep.objects.filter(session=session_id, pk__lt=last).delete()
