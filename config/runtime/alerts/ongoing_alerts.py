"""Alerts about conditions that a process checks again and again, open for as long as the condition lasts."""

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext_noop

from notifications.models import Alert
from notifications.services.alerts import close_alert, raise_alert

REPEAT_SECONDS = 60.0
ABANDONED = timedelta(minutes=3)
"""Who has seen the fact itself closes its alert at once; others only when nobody repeats it any more."""
UNREPEATED = gettext_noop("not reported again for three minutes")


class OngoingAlerts:
    """The alerts of one kind, by subject; other nodes may see the same otherwise."""

    def __init__(self, kind: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._kind = kind
        self._clock = clock
        self._raised_at: dict[str, float] = {}

    def known(self) -> dict[str, Alert]:
        """Return the unresolved alerts by subject, whoever raised them."""
        alerts = Alert.objects.exclude(status=Alert.Status.RESOLVED).filter(kind=self._kind)
        return {alert.subject: alert for alert in alerts}

    def raise_or_repeat(self, subject: str, title: str, detail: dict[str, Any], *, is_known: bool) -> None:
        """Raise the alert, and repeat it once a minute, so that no other node takes it for over."""
        now, raised_at = self._clock(), self._raised_at.get(subject)
        if is_known and raised_at is not None and now - raised_at < REPEAT_SECONDS:
            return
        raise_alert(self._kind, subject, title, detail)
        self._raised_at[subject] = now

    def close(self, subject: str, note: str, alert: Alert | None, *, is_own: bool = False) -> None:
        """Close the alert of what is over; `is_own` says that nobody but this node can see its subject."""
        was_raised = self._raised_at.pop(subject, None) is not None
        if alert is None:
            return
        if was_raised or is_own:
            close_alert(self._kind, subject, note)
        elif alert.last_at < timezone.now() - ABANDONED:
            close_alert(self._kind, subject, UNREPEATED)
