"""Sessions that have reached their repeat limit: one alert for each theme that has any, over when none is left."""

from collections.abc import Collection

from django.utils import timezone
from django.utils.translation import gettext_noop

from config.common.correlation import correlated, correlation_id
from notifications.models import RepeatSession, Theme
from notifications.services.alerts import close_alert, raise_alert
from notifications.services.events import NewEvent, record_event

EXHAUSTED = "session.exhausted"
TITLE = gettext_noop("Sessions of theme %(theme)s have reached their repeat limit")


def theme_subject(number: int) -> str:
    return f"theme/{number}"


def session_subject(session_id: int) -> str:
    return f"session/{session_id}"


def record_exhausted(session: RepeatSession, detail: str) -> None:
    """Raise the alert and record the event, in the transaction that exhausts the session and holds its theme.

    One alert for a theme: a receiver that is gone for good exhausts thousands of sessions, and one call is enough.
    """
    payload = {"session": session.pk, "theme": session.theme_id, "repeats": session.repeats, "reason": detail}
    with correlated(session.correlation_id or correlation_id()):
        record_event(NewEvent(EXHAUSTED, session_subject(session.pk), timezone.now(), payload))
        raise_alert(EXHAUSTED, theme_subject(session.theme_id), TITLE, payload)


def close_exhausted_alerts(themes: Collection[int]) -> None:
    """Close the alerts of themes that have no exhausted session left, in the transaction that removed some."""
    for number in sorted(themes):
        lock_theme(number)
        if not RepeatSession.objects.filter(theme=number, status=RepeatSession.Status.EXHAUSTED).exists():
            close_alert(EXHAUSTED, theme_subject(number), gettext_noop("no session of the theme is exhausted any more"))


def has_exhausted_sessions(subject: str) -> bool:
    """Say whether the theme of an alert has a session that waits to be revived or deleted."""
    theme = int(subject.removeprefix("theme/"))
    return RepeatSession.objects.filter(theme=theme, status=RepeatSession.Status.EXHAUSTED).exists()


def lock_theme(number: int) -> None:
    """Let those who exhaust, revive and delete sessions of a theme go one by one: each sees what the others left."""
    Theme.objects.select_for_update(no_key=True).filter(pk=number).values_list("pk").first()
