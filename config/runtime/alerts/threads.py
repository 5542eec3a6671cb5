"""What keeps failing in the background: an alert while it does, closed when it has not failed for a while.

It is closed by the age of the last failure, not by the process that failed: that one may be gone by then.
"""

from datetime import timedelta

from django.db import connections
from django.utils import timezone
from django.utils.translation import gettext_noop

from notifications.models import Alert
from notifications.services.alerts import close_alert, raise_alert

KIND = "thread.failing"
OVER_AFTER = timedelta(minutes=5)
"""Ten times the longest pause between two starts."""
TITLE = gettext_noop("Background work keeps failing: %(name)s (%(error)s)")


def raise_thread_alert(name: str, error: str, failures: int) -> None:
    """Raise the alert, from the thread that failed."""
    try:
        raise_alert(KIND, f"thread/{name}"[:120], TITLE, {"name": name, "error": error, "failures": failures})
    finally:
        connections.close_all()


def close_recovered_threads() -> bool:
    """Close the alerts of what has not failed for a while. There is never more to do at once."""
    past = timezone.now() - OVER_AFTER
    rows = Alert.objects.exclude(status=Alert.Status.RESOLVED).filter(kind=KIND, last_at__lt=past)
    for subject in rows.values_list("subject", flat=True):
        close_alert(KIND, subject, gettext_noop("no failure for five minutes"))
    return False
