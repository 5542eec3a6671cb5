"""Withdraw messages that are owed no longer: what is pending becomes cancelled, with the reason.

A message that the ingest writes at the same moment may be missed here; whether it is still wanted is asked again at
every attempt.
"""

from collections.abc import Collection

from django.db.models import Q
from django.utils.translation import gettext_noop

from config.common.database.sql import in_array, in_number_array
from notifications.services.deliveries import cancel_deliveries, lock_pending_deliveries
from sensors.services.publish import CLIENT_INACTIVE, subject_of

UNLINKED = gettext_noop("unlinked")
SENSOR_INACTIVE = gettext_noop("the sensor is inactive")


def cancel_client_deliveries(endpoint_id: int) -> None:
    cancel_deliveries([pk for pk, _, _ in lock_pending_deliveries(Q(endpoint=endpoint_id))], CLIENT_INACTIVE)


def cancel_sensor_deliveries(sensor_ids: Collection[str]) -> None:
    if sensor_ids:
        subjects = [subject_of(sensor_id) for sensor_id in sensor_ids]
        cancel_deliveries(
            [pk for pk, _, _ in lock_pending_deliveries(Q(subject__in=in_array(subjects)))], SENSOR_INACTIVE
        )


def cancel_link_deliveries(links: Collection[tuple[str, int]]) -> None:
    """Cancel what is pending of each sensor for each endpoint."""
    wanted = {(endpoint_id, subject_of(sensor_id)) for sensor_id, endpoint_id in links}
    subjects = in_array({subject for _, subject in wanted})
    found = lock_pending_deliveries(
        Q(subject__in=subjects, endpoint__in=in_number_array({endpoint_id for endpoint_id, _ in wanted}))
    )
    cancel_deliveries([pk for pk, endpoint_id, subject in found if (endpoint_id, subject) in wanted], UNLINKED)
