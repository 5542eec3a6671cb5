"""Sensors whose connection comes and goes: said once an hour, not with every loss; one alert until they are calm."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db.models import Count, Max, Q
from django.utils import timezone
from django.utils.translation import gettext_noop

from notifications.models import Alert, Event
from notifications.services.alerts import close_alert, raise_alert
from notifications.services.events import NewEvent, record_events
from sensors.events import ConnectionLost
from sensors.subjects import subject_of

LOSSES_AN_HOUR = 6
HOUR = timedelta(hours=1)
FLAPPING = "sensor.flapping"
BATCH = 100


def report_flapping(lost: Sequence[ConnectionLost], *, now: datetime) -> None:
    """Write an event and raise the alert of each sensor that has been lost more than six times within the hour.

    Once an hour: an event that is there already speaks for the losses after it. Call it in the transaction of the
    losses, while the state rows are locked. It looks only at those just lost.
    """
    if not lost:
        return
    counted = _count([subject_of(each.sensor_id) for each in lost], now=now)
    flapping = [
        (subject, losses) for subject, (losses, told) in sorted(counted.items()) if _is_wild(losses) and not told
    ]
    record_events(
        NewEvent(FLAPPING, subject, now, {"sensor_id": _id(subject), "losses": losses}) for subject, losses in flapping
    )
    for subject, losses in flapping:
        title = gettext_noop("Sensor %(sensor_id)s loses its connection again and again")
        raise_alert(FLAPPING, subject, title, {"sensor_id": _id(subject), "losses_in_an_hour": losses})


def close_calm_alerts_once() -> bool:
    """Close the alerts of sensors that have calmed down; return whether there may be more.

    An alert that was repeated within the hour cannot be calm yet, so only older ones are looked at.
    """
    now = timezone.now()
    old = Alert.objects.exclude(status=Alert.Status.RESOLVED).filter(kind=FLAPPING, last_at__lte=now - HOUR)
    subjects = list(old.order_by("last_at").values_list("subject", flat=True)[:BATCH])
    if not subjects:
        return False
    counted = _count(subjects, now=now)
    calm = [subject for subject in sorted(subjects) if not _is_wild(counted.get(subject, (0, False))[0])]
    for subject in calm:
        close_alert(FLAPPING, subject, gettext_noop("no more than six losses within the last hour"))
    return len(calm) == BATCH


def _count(subjects: Sequence[str], *, now: datetime) -> dict[str, tuple[int, bool]]:
    """Return of each subject its losses within the hour, and whether its flapping has been told within it."""
    recent = Event.objects.filter(subject__in=subjects, recorded_at__gt=now - HOUR)
    counted = recent.values("subject").annotate(
        losses=Count("id", filter=Q(type="sensor.connection_lost")),
        told=Max("id", filter=Q(type=FLAPPING)),
    )
    return {row["subject"]: (row["losses"], row["told"] is not None) for row in counted}


def _is_wild(losses: int) -> bool:
    return losses > LOSSES_AN_HOUR


def _id(subject: str) -> str:
    return subject.partition("/")[2]
