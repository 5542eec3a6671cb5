"""Record what was refused, folded by reason, sensor and minute, so that a storm of bad signals stays a few rows.

Ids that nobody has registered cost their sender nothing, so a minute has a row for the first of them alone.

A storm is found by looking at these rows. A counter that every batch had to raise would be one row for all consumers to
queue at; the rows of a minute are bounded and found by their key, so a look costs the same whatever the table holds.
"""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Sum
from django.utils import timezone
from django.utils.translation import gettext_noop

from config.common.correlation import correlation_id, new_correlation_id
from config.common.database.sql import bulk_execute, in_array
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

Key = tuple[str, str]
"""The code of the reason and the sensor."""


def record_rejections(rejections: Iterable[Rejection], *, now: datetime) -> None:
    """Add refusals to the rows of this minute; the last text of each kind is kept."""
    minute = now.replace(second=0, microsecond=0)
    folded: dict[Key, tuple[int, Rejection]] = {}
    for rejection in rejections:
        # Cleaned here, whoever refuses: a refusal that cannot be stored would stop the consumer for ever.
        key = (rejection.code.value, clean_text(rejection.sensor_id, 64))
        count = folded[key][0] if key in folded else 0
        folded[key] = (count + 1, rejection)
    rows: list[tuple[Any, ...]] = []
    # Sorted, so that two consumers lock the rows of a minute in the same order.
    for key, (count, last) in sorted(_fold_those_without_room(folded, minute).items()):
        # Whoever sends over AMQP names no chain as a rule: then the refusal begins one.
        chain = last.correlation_id or correlation_id() or new_correlation_id()
        message, raw = clean_text(last.message, 300), clean_text(last.raw, 1024)
        rows.append((*key, minute, count, message, raw, now, chain))
    bulk_execute("sensors", "record_rejections", rows)


def _fold_those_without_room(
    folded: dict[Key, tuple[int, Rejection]], minute: datetime
) -> dict[Key, tuple[int, Rejection]]:
    """Count under the empty id those sensors that have no row in this minute, and for which there is no room left.

    Here, and not in the statement: of a thousand random ids one row is written, not a thousand that are looked at each.
    """
    named = {sensor for _, sensor in folded if sensor}
    if not named:
        return folded
    of_minute = RejectedSignal.objects.order_by().filter(recorded_at=minute).exclude(sensor_id="")
    held = set(of_minute.filter(sensor_id__in=in_array(sorted(named))).values_list("code", "sensor_id"))
    used = Counter(dict(of_minute.values_list("code").annotate(Count("pk"))))
    kept: dict[Key, tuple[int, Rejection]] = {}
    for (code, sensor), (count, last) in sorted(folded.items()):
        if sensor and (code, sensor) not in held:
            if used[code] >= MOST_SENSORS:
                sensor = ""
            else:
                used[code] += 1
        before = kept[code, sensor][0] if (code, sensor) in kept else 0
        kept[code, sensor] = (before + count, last)
    return kept


def check_rejection_rate_once() -> bool:
    """Raise the alert of a storm, once a minute, or close it after ten calm minutes. Return False: nothing is left."""
    now = timezone.now()
    minute = now.replace(second=0, microsecond=0)
    alert = Alert.objects.exclude(status=Alert.Status.RESOLVED).filter(kind=STORM, subject=SUBJECT).first()
    recent = RejectedSignal.objects.filter(recorded_at__gte=minute - timedelta(minutes=1))
    minutes = recent.order_by().values("recorded_at").annotate(total=Sum("count"))
    refused = max((row["total"] for row in minutes), default=0)
    if refused > STORM_FROM and (alert is None or alert.last_at < minute):
        title = gettext_noop("More than %(limit)s signals a minute are being rejected")
        newest = RejectedSignal.objects.order_by("-id").first()
        reason = "" if newest is None else newest.message
        raise_alert(STORM, SUBJECT, title, {"limit": STORM_FROM, "refused": refused, "reason": reason})
    elif refused <= STORM_FROM and alert is not None and alert.last_at < now - CALM:
        close_alert(STORM, SUBJECT, gettext_noop("ten minutes without a storm of rejected signals"))
    return False
