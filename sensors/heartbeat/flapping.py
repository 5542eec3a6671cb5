"""Sensors whose connection comes and goes: said once an hour, not with every loss."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db.models import Count, Max, Q

from notifications.models import Event
from notifications.services.events import Fact, record_events
from sensors.services.telling import ConnectionLost, subject_of

LOSSES_AN_HOUR = 6
HOUR = timedelta(hours=1)


def tell_flapping(lost: Sequence[ConnectionLost], *, now: datetime) -> None:
    """Write an event for each sensor that has been lost more than six times within the hour, unless one is there.

    Call it in the transaction of the losses, while the state rows are locked. It looks only at those just lost.
    """
    if not lost:
        return
    recent = Event.objects.filter(subject__in=[subject_of(each.sensor_id) for each in lost], recorded_at__gt=now - HOUR)
    counted = recent.values("subject").annotate(
        losses=Count("id", filter=Q(type="sensor.connection_lost")),
        told=Max("id", filter=Q(type="sensor.flapping")),
    )
    record_events(
        Fact("sensor.flapping", row["subject"], now, {"sensor_id": _id(row["subject"]), "losses": row["losses"]})
        for row in counted
        if row["losses"] > LOSSES_AN_HOUR and row["told"] is None
    )


def _id(subject: str) -> str:
    return subject.partition("/")[2]
