"""Flap detection: sensors whose connection comes and goes. One event an hour, one alert until they are calm."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db.models import Count, Max, Q
from django.utils import timezone
from django.utils.translation import gettext_noop

from notifications.models import Alert, Event
from notifications.services.alerts import close_alert, raise_alert
from notifications.services.events import NewEvent, record_events
from sensors.events import CONNECTION_LOST, ConnectionLost
from sensors.subjects import subject_of

MOST_LOSSES = 6
"""Within an hour; one more is flapping."""
HOUR = timedelta(hours=1)
FLAPPING = "sensor.flapping"
BATCH = 100


def report_flapping(lost: Sequence[ConnectionLost], *, now: datetime) -> None:
    """Record an event and raise the alert of each sensor that was lost more than six times within the hour.

    Only sensors just lost are looked at. Call it in the transaction of the losses, while the state rows are locked.
    """
    if not lost:
        return
    sensor_ids = {subject_of(each.sensor_id): each.sensor_id for each in lost}
    counted = _count_losses(list(sensor_ids), now=now)
    # An event within the hour already speaks for the losses after it.
    flapping = [
        (subject, losses)
        for subject, (losses, is_reported) in sorted(counted.items())
        if losses > MOST_LOSSES and not is_reported
    ]
    record_events(
        NewEvent(FLAPPING, subject, now, {"sensor_id": sensor_ids[subject], "losses": losses})
        for subject, losses in flapping
    )
    for subject, losses in flapping:
        title = gettext_noop("Sensor %(sensor_id)s keeps losing its connection")
        raise_alert(FLAPPING, subject, title, {"sensor_id": sensor_ids[subject], "losses_in_an_hour": losses})


def close_calm_alerts_once() -> bool:
    """Close the alerts of sensors that have calmed down; return whether there may be more."""
    now = timezone.now()
    # One that was repeated within the hour cannot be calm yet.
    old = Alert.objects.exclude(status=Alert.Status.RESOLVED).filter(kind=FLAPPING, last_at__lte=now - HOUR)
    subjects = list(old.order_by("last_at").values_list("subject", flat=True)[:BATCH])
    if not subjects:
        return False
    counted = _count_losses(subjects, now=now)
    calm = [subject for subject in sorted(subjects) if counted.get(subject, (0, False))[0] <= MOST_LOSSES]
    for subject in calm:
        close_alert(FLAPPING, subject, gettext_noop("no more than six losses within the last hour"))
    return len(calm) == BATCH


def _count_losses(subjects: Sequence[str], *, now: datetime) -> dict[str, tuple[int, bool]]:
    """Return the losses of each subject within the hour, and whether its flapping was reported within it."""
    recent = Event.objects.filter(subject__in=subjects, recorded_at__gt=now - HOUR)
    counted = recent.values("subject").annotate(
        losses=Count("id", filter=Q(type=CONNECTION_LOST)),
        reported=Max("id", filter=Q(type=FLAPPING)),
    )
    return {row["subject"]: (row["losses"], row["reported"] is not None) for row in counted}
