"""The health of themes: which have exhausted sessions, and whose breaker is open because nobody answers.

There is one alert for each theme that has exhausted sessions, closed when none is left. Repeats in a row without an
answer open the breaker, the next answer closes it. An open breaker stops nothing: every session is still repeated at
its time and its failures count, but one at a time, so that a receiver that hangs cannot hold what others need.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_noop

from config.common.correlation import correlated, correlation_id
from config.common.times import format_time
from notifications.models import RepeatSession, Theme
from notifications.sending.policy import BREAKER_FAILURES
from notifications.services.alerts import close_alert, raise_alert
from notifications.services.events import NewEvent, record_event
from notifications.subjects import session_subject, theme_subject

if TYPE_CHECKING:
    from notifications.sessions.outcomes import Outcome

EXHAUSTED = "session.exhausted"
EXHAUSTED_TITLE = gettext_noop("Sessions of theme %(theme)s have used up all their attempts")
UNREACHABLE = "theme.unreachable"
NO_ANSWER = gettext_noop("Theme %(theme)s is not responding: its sessions are waiting")
ANSWERS = gettext_noop("the theme responds again")
IDLE = gettext_noop("no session of the theme is waiting any more")


def record_exhausted(session: RepeatSession, detail: str) -> None:
    """Raise the alert and record the event, in the transaction that exhausts the session and has locked its theme.

    One alert for a theme: a receiver that is gone for good exhausts thousands of sessions, and one call is enough.
    """
    payload = {"session": session.pk, "theme": session.theme_id, "repeats": session.repeats, "reason": detail}
    with correlated(session.correlation_id or correlation_id()):
        record_event(NewEvent(EXHAUSTED, session_subject(session.pk), timezone.now(), payload))
        raise_alert(EXHAUSTED, theme_subject(session.theme_id), EXHAUSTED_TITLE, payload)


def close_exhausted_alerts(themes: Collection[int]) -> None:
    """Close the alerts of themes that have no exhausted session left, in the transaction that removed some."""
    for number in sorted(themes):
        lock_theme(number)
        if not RepeatSession.objects.filter(theme=number, status=RepeatSession.Status.EXHAUSTED).exists():
            close_alert(EXHAUSTED, theme_subject(number), gettext_noop("no session of the theme is exhausted any more"))


def has_exhausted_sessions(subject: str) -> bool:
    """Return whether the theme that an alert is about has a session that waits to be revived or deleted."""
    theme = int(subject.removeprefix("theme/"))
    return RepeatSession.objects.filter(theme=theme, status=RepeatSession.Status.EXHAUSTED).exists()


def lock_theme(number: int) -> None:
    """Lock a theme: those who exhaust, revive and delete its sessions go one by one, and each sees what others left."""
    Theme.objects.select_for_update(no_key=True).filter(pk=number).values_list("pk").first()


def find_changed_themes(outcomes: "Collection[Outcome]") -> list[int]:
    """Return the themes whose row changes: none does while all goes well."""
    changed = set()
    for each in outcomes:
        theme = each.claim.theme
        if each.is_answer is False or (each.is_answer is True and theme.failures > 0):
            changed.add(theme.pk)
    return sorted(changed)


def update_breakers(outcomes: "Sequence[Outcome]", themes: Collection[int]) -> None:
    """Open and close the breakers of these themes, in the transaction that records the outcomes."""
    by_theme = defaultdict[int, list[bool]](list)
    for each in outcomes:
        if each.is_answer is not None and each.claim.theme.pk in themes:
            by_theme[each.claim.theme.pk].append(each.is_answer)
    for theme in Theme.objects.select_for_update(no_key=True).filter(pk__in=by_theme).order_by("pk"):
        _update_breaker(theme, by_theme[theme.pk], at=timezone.now())


def _update_breaker(theme: Theme, answers: Sequence[bool], *, at: datetime) -> None:
    # Of outcomes that are recorded together only the failures after the last answer count.
    last_answer = max((place for place, is_answer in enumerate(answers, start=1) if is_answer), default=0)
    failures = len(answers) - last_answer
    if last_answer:
        reset_theme_breaker(theme, ANSWERS)
    theme.failures += failures
    if theme.failures >= BREAKER_FAILURES:
        theme.opened_at = theme.opened_at or at
        detail = {"theme": theme.pk, "url": theme.url or theme.handler, "since": format_time(theme.opened_at)}
        raise_alert(UNREACHABLE, theme_subject(theme.pk), NO_ANSWER, detail)
    if failures:
        theme.save(update_fields=["failures", "opened_at"])


def close_idle_breaker(number: int) -> None:
    """Close a breaker behind which no session waits: no answer will come to close it."""
    with transaction.atomic():
        theme = Theme.objects.select_for_update(no_key=True).filter(pk=number, opened_at__isnull=False).first()
        waiting = (RepeatSession.Status.SAVED, RepeatSession.Status.ACTIVE)
        if theme is not None and not RepeatSession.objects.filter(theme=number, status__in=waiting).exists():
            reset_theme_breaker(theme, IDLE)


def reset_theme_breaker(theme: Theme, note: str) -> None:
    """Begin anew with a theme whose row the caller has locked."""
    theme.failures, theme.opened_at = 0, None
    theme.save(update_fields=["failures", "opened_at"])
    close_alert(UNREACHABLE, theme_subject(theme.pk), note)
