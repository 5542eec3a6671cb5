"""Cancel deliveries that are no longer relevant, each with the reason.

A change of the registry cancels what is pending. A delivery that the ingest writes at the same time may be missed by
that, so the sender asks again before every attempt (`find_cancel_reasons`).
"""

from collections.abc import Collection, Iterable, Sequence

from django.db.models import Q
from django.utils.translation import gettext_noop

from config.common.database.sql import in_array, in_number_array
from config.common.times import format_time
from notifications.models import Delivery
from notifications.sending.relevance import PendingDelivery
from notifications.services.deliveries import cancel_deliveries, lock_pending_deliveries
from sensors.events import LEFT_OPEN
from sensors.models import OpenDoor, Sensor, SensorClient
from sensors.services.open_doors import CLOSED
from sensors.services.publish import CLIENT_INACTIVE
from sensors.subjects import find_sensor_id, subject_of

UNLINKED = gettext_noop("unlinked")
SENSOR_INACTIVE = gettext_noop("the sensor is inactive")


def cancel_client_deliveries(endpoint_id: int) -> None:
    """Cancel all that is pending for a client that is switched off."""
    cancel_deliveries([pk for pk, _, _ in lock_pending_deliveries(Q(endpoint=endpoint_id))], CLIENT_INACTIVE)


def cancel_sensor_deliveries(sensor_ids: Collection[str]) -> None:
    """Cancel all that is pending about sensors that are deactivated."""
    if sensor_ids:
        subjects = [subject_of(sensor_id) for sensor_id in sensor_ids]
        pending = lock_pending_deliveries(Q(subject__in=in_array(subjects)))
        cancel_deliveries([pk for pk, _, _ in pending], SENSOR_INACTIVE)


def cancel_link_deliveries(links: Collection[tuple[str, int]]) -> None:
    """Cancel all that is pending of each sensor for each endpoint, given as pairs."""
    unlinked = {(endpoint_id, subject_of(sensor_id)) for sensor_id, endpoint_id in links}
    subjects = in_array({subject for _, subject in unlinked})
    endpoints = in_number_array({endpoint_id for endpoint_id, _ in unlinked})
    # The query finds every combination of these sensors and endpoints; only the given pairs are cancelled.
    found = lock_pending_deliveries(Q(subject__in=subjects, endpoint__in=endpoints))
    cancel_deliveries([pk for pk, endpoint_id, subject in found if (endpoint_id, subject) in unlinked], UNLINKED)


def find_cancel_reasons(pending: Sequence[PendingDelivery]) -> dict[int, str]:
    """Return why deliveries are no longer relevant, by id: the sensor is inactive, or not this client's any more.

    An inactive client needs no reason: its endpoint is not sent to at all.
    """
    asked = [
        (pk, endpoint_id, sensor_id)
        for pk, endpoint_id, subject in pending
        if (sensor_id := find_sensor_id(subject)) is not None
    ]
    if not asked:
        return {}
    sensors = {sensor_id for _, _, sensor_id in asked}
    active = dict(Sensor.objects.filter(pk__in=in_array(sensors), active=True).values_list("pk", "open_limit"))
    endpoints = in_number_array({endpoint_id for _, endpoint_id, _ in asked})
    links = SensorClient.objects.filter(sensor__in=in_array(sensors), client__endpoint__in=endpoints)
    linked = set(links.values_list("client__endpoint_id", "sensor_id"))
    reasons: dict[int, str] = {}
    for pk, endpoint_id, sensor_id in asked:
        if sensor_id not in active:
            reasons[pk] = SENSOR_INACTIVE
        elif (endpoint_id, sensor_id) not in linked:
            reasons[pk] = UNLINKED
    if any(limit is not None for limit in active.values()):
        reasons |= _find_closed(pk for pk, _, sensor_id in asked if pk not in reasons and active[sensor_id] is not None)
    return reasons


def _find_closed(pks: Iterable[int]) -> dict[int, str]:
    """Return which of these deliveries report a door that has been closed since."""
    reports = Delivery.objects.filter(pk__in=in_number_array(list(pks)), type=LEFT_OPEN)
    asked = {
        pk: (find_sensor_id(subject), body["opened_at"])
        for pk, subject, body in reports.values_list("pk", "subject", "body")
    }
    doors = OpenDoor.objects.filter(sensor__in=in_array({str(sensor_id) for sensor_id, _ in asked.values()}))
    still = {(sensor_id, format_time(opened_at)) for sensor_id, opened_at in doors.values_list("pk", "opened_at")}
    return {pk: CLOSED for pk, door in asked.items() if door not in still}
