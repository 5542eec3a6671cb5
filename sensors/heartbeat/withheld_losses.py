"""Mutes that end while a sensor is lost: its clients are told then, with the time of the loss."""

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from config.common.background.ring import ring
from config.common.database.sql import in_array
from config.common.times import to_milliseconds
from sensors.events import ConnectionLost
from sensors.models import SensorClient
from sensors.services.locks import lock_sensors
from sensors.services.publish import enqueue_withheld_losses, write_withheld

UNMUTED = "heartbeat.unmuted"
BATCH = 5000


def publish_unmuted_losses_once() -> bool:
    """Tell what is still lost where a mute has ended; return whether there may be more.

    The rows of the states are locked before the links, as by whoever writes a loss or its end.
    """
    now = timezone.now()
    due = SensorClient.objects.filter(tell_at__lte=now)
    links = list(due.order_by("tell_at").values_list("sensor_id", flat=True)[:BATCH])
    if not links:
        return False
    with transaction.atomic():
        held = lock_sensors(sorted(set(links))).values()
        lost = [
            ConnectionLost(each.id, to_milliseconds(each.lost_at), to_milliseconds(each.seen_at))
            for each in held
            if each.lost_at is not None and each.seen_at is not None and each.values.active
        ]
        enqueue_withheld_losses(lost, now=now)
        settled = {each.id for each in held} - {each.sensor_id for each in lost}
        idle = due.filter(sensor__in=in_array(settled))
        write_withheld([(True, None, pk) for pk in idle.values_list("pk", flat=True)])
    return len(links) == BATCH


def recheck_withheld_losses(links: QuerySet[SensorClient]) -> None:
    """Look at losses that a mute withholds, because it was changed. Call it in the transaction of the change."""
    now = timezone.now()
    withheld = list(links.filter(tell_at__isnull=False).values_list("pk", flat=True))
    if withheld:
        write_withheld([(True, now, pk) for pk in withheld])
        ring(UNMUTED)
