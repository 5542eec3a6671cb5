"""A storm of rejected signals: found by looking, so that signals which are refused make no others wait.

A counter that every batch had to raise would be one row for all consumers to queue at. The rows of a minute are
bounded and found by the key of the rejected signals, so a look costs the same whatever the table holds.
"""

from datetime import datetime, timedelta

from django.db.models import Sum
from django.utils import timezone
from django.utils.translation import gettext_noop

from notifications.models import Alert
from notifications.services.alerts import close_alert, raise_alert
from sensors.models import RejectedSignal

STORM = "signals.rejected"
SUBJECT = "signals"
A_MINUTE = 1000
CALM = timedelta(minutes=10)


def check_rejection_rate_once() -> bool:
    """Raise the alert in a minute of many refusals, once a minute; close it after ten minutes of few."""
    now = timezone.now()
    minute = now.replace(second=0, microsecond=0)
    alert = Alert.objects.exclude(status=Alert.Status.RESOLVED).filter(kind=STORM, subject=SUBJECT).first()
    refused = _refused(since=minute - timedelta(minutes=1))
    if refused > A_MINUTE and (alert is None or alert.last_at < minute):
        title = gettext_noop("More than %(limit)s signals a minute are refused")
        raise_alert(STORM, SUBJECT, title, {"limit": A_MINUTE, "refused": refused, "reason": _reason()})
    elif refused <= A_MINUTE and alert is not None and alert.last_at < now - CALM:
        close_alert(STORM, SUBJECT, gettext_noop("ten minutes without a storm"))
    return False


def _refused(*, since: datetime) -> int:
    """Count the refusals of the worst minute."""
    minutes = RejectedSignal.objects.filter(recorded_at__gte=since).order_by().values("recorded_at")
    return max((row["total"] for row in minutes.annotate(total=Sum("count"))), default=0)


def _reason() -> str:
    """Give the words of the newest refusal."""
    newest = RejectedSignal.objects.order_by("-id").first()
    return "" if newest is None else newest.message
