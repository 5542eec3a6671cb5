"""Record what was refused, folded by reason, sensor and minute, so that a storm of bad signals stays a few rows.

Ids that nobody has registered cost their sender nothing, so a minute has a row for the first of them alone.

A storm is found by looking at these rows. A counter that every batch had to raise would be one row for all consumers to
queue at; the rows of a minute are bounded and found by their key, so a look costs the same whatever the table holds.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db.models import Sum
from django.utils import timezone
from django.utils.translation import gettext_noop

from config.common.database.sql import bulk_execute
from config.common.text import clean_text
from notifications.models import Alert
from notifications.services.alerts import close_alert, raise_alert
from sensors.ingest.signals import Rejection
from sensors.models import RejectedSignal

STORM = "signals.rejected"
SUBJECT = "signals"
STORM_FROM = 1000
"""Refusals within a minute; more are a storm."""
CALM = timedelta(minutes=10)
MOST_SENSORS = 1000
"""So many sensors have a row of their own in a minute of one reason; those beyond are counted under the empty id.

Consumers do not wait for each other to keep it to the letter: those that write at the same moment may each fill the
room that is left.
"""


def record_rejections(rejections: Iterable[Rejection], *, now: datetime) -> None:
    """Add refusals to the rows of this minute; the last text of each kind is kept."""
    minute = now.replace(second=0, microsecond=0)
    folded: dict[tuple[str, str], tuple[int, Rejection]] = {}
    for rejection in rejections:
        # Cleaned here, whoever refuses: a refusal that cannot be stored would stop the consumer for ever.
        key = (rejection.code.value, clean_text(rejection.sensor_id, 64))
        count = folded[key][0] if key in folded else 0
        folded[key] = (count + 1, rejection)
    # Sorted, so that two consumers lock the rows of a minute in the same order.
    rows = [
        (code, sensor_id, minute, count, clean_text(last.message, 300), clean_text(last.raw, 1024), now, MOST_SENSORS)
        for (code, sensor_id), (count, last) in sorted(folded.items())
    ]
    bulk_execute("sensors", "record_rejections", rows)


def check_rejection_rate_once() -> bool:
    """Raise the alert of a storm, once a minute, or close it after ten calm minutes. Return False: nothing is left."""
    now = timezone.now()
    minute = now.replace(second=0, microsecond=0)
    alert = Alert.objects.exclude(status=Alert.Status.RESOLVED).filter(kind=STORM, subject=SUBJECT).first()
    refused = _count_worst_minute(since=minute - timedelta(minutes=1))
    if refused > STORM_FROM and (alert is None or alert.last_at < minute):
        title = gettext_noop("More than %(limit)s signals a minute are refused")
        newest = RejectedSignal.objects.order_by("-id").first()
        reason = "" if newest is None else newest.message
        raise_alert(STORM, SUBJECT, title, {"limit": STORM_FROM, "refused": refused, "reason": reason})
    elif refused <= STORM_FROM and alert is not None and alert.last_at < now - CALM:
        close_alert(STORM, SUBJECT, gettext_noop("ten minutes without a storm"))
    return False


def _count_worst_minute(*, since: datetime) -> int:
    minutes = RejectedSignal.objects.filter(recorded_at__gte=since).order_by().values("recorded_at")
    return max((row["total"] for row in minutes.annotate(total=Sum("count"))), default=0)
