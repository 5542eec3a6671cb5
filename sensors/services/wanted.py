"""Say of messages about sensors whether they are still wanted: asked before every attempt."""

from collections.abc import Sequence

from config.common.database.sql import in_array, in_number_array
from notifications.sending.relevance import PendingDelivery
from sensors.models import Sensor, SensorClient
from sensors.services.cancellation import SENSOR_INACTIVE, UNLINKED
from sensors.services.publish import subject_of

PREFIX = subject_of("")


def find_cancel_reasons(questions: Sequence[PendingDelivery]) -> dict[int, str]:
    """Return why messages are not wanted: the sensor is inactive, or no longer this client's. (An inactive client's
    endpoint is not sent to at all.)"""
    asked = [
        (pk, endpoint_id, subject.removeprefix(PREFIX))
        for pk, endpoint_id, subject in questions
        if subject.startswith(PREFIX)
    ]
    if not asked:
        return {}
    sensors = {sensor_id for _, _, sensor_id in asked}
    active = set(Sensor.objects.filter(pk__in=in_array(sensors), active=True).values_list("pk", flat=True))
    linked = set(
        SensorClient.objects.filter(
            sensor__in=in_array(sensors),
            client__endpoint__in=in_number_array({endpoint_id for _, endpoint_id, _ in asked}),
        ).values_list("client__endpoint_id", "sensor_id")
    )
    reasons: dict[int, str] = {}
    for pk, endpoint_id, sensor_id in asked:
        if sensor_id not in active:
            reasons[pk] = SENSOR_INACTIVE
        elif (endpoint_id, sensor_id) not in linked:
            reasons[pk] = UNLINKED
    return reasons
