"""Losses that a mute withholds from clients: sent when the mute ends, with the time of the loss, if it still lasts."""

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
    """Notify clients of losses that outlast their mutes; return whether there may be more."""
    now = timezone.now()
    due = SensorClient.objects.filter(tell_at__lte=now)
    sensor_ids = list(due.order_by("tell_at").values_list("sensor_id", flat=True)[:BATCH])
    if not sensor_ids:
        return False
    with transaction.atomic():
        # The state rows before the links, in the order of whoever writes a loss or its end.
        locked = lock_sensors(sorted(set(sensor_ids))).values()
        lost = [
            ConnectionLost(each.id, to_milliseconds(each.lost_at), to_milliseconds(each.seen_at))
            for each in locked
            if each.lost_at is not None and each.seen_at is not None and each.values.active
        ]
        enqueue_withheld_losses(lost, now=now)
        over = {each.id for each in locked} - {each.sensor_id for each in lost}
        links = due.filter(sensor__in=in_array(over)).values_list("pk", flat=True)
        # Not notified of the loss, so not of its end either: that stays marked.
        write_withheld([(True, None, pk) for pk in links])
    return len(sensor_ids) == BATCH


def recheck_withheld_losses(links: QuerySet[SensorClient]) -> None:
    """Have the losses withheld on these links looked at now: their mute was changed, in the caller's transaction."""
    now = timezone.now()
    withheld = list(links.filter(tell_at__isnull=False).values_list("pk", flat=True))
    if withheld:
        write_withheld([(True, now, pk) for pk in withheld])
        ring(UNMUTED)
