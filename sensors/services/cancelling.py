"""Withdraw messages that are owed no longer: what is pending becomes cancelled, with the reason.

A message that the ingest writes at the same moment may be missed here; whether it is still wanted is asked again at
every attempt.
"""

from collections.abc import Collection

from django.db.models import F, Q, QuerySet

from config.common.sql import among, among_numbers
from notifications.models import Delivery
from sensors.services.telling import subject_of

UNLINKED = "unlinked"
SENSOR_INACTIVE = "the sensor is inactive"
CLIENT_INACTIVE = "the client is inactive"


def cancel_of_client(endpoint_id: int) -> None:
    _cancel([pk for pk, _, _ in _lock(Q(endpoint=endpoint_id))], CLIENT_INACTIVE)


def cancel_of_sensors(sensor_ids: Collection[str]) -> None:
    if sensor_ids:
        subjects = [subject_of(sensor_id) for sensor_id in sensor_ids]
        _cancel([pk for pk, _, _ in _lock(Q(subject__in=among(subjects)))], SENSOR_INACTIVE)


def cancel_of_links(links: Collection[tuple[str, int]]) -> None:
    """Cancel what is pending of each sensor for each endpoint."""
    wanted = {(endpoint_id, subject_of(sensor_id)) for sensor_id, endpoint_id in links}
    subjects = among({subject for _, subject in wanted})
    found = _lock(Q(subject__in=subjects, endpoint__in=among_numbers({endpoint_id for endpoint_id, _ in wanted})))
    _cancel([pk for pk, endpoint_id, subject in found if (endpoint_id, subject) in wanted], UNLINKED)


def _lock(those: Q) -> QuerySet[Delivery, tuple[int, int, str]]:
    """Lock in order of id, so that two who cancel never wait for each other in a circle."""
    pending = Delivery.objects.filter(those, status=Delivery.Status.PENDING)
    return pending.select_for_update(no_key=True).order_by("pk").values_list("pk", "endpoint_id", "subject")


def _cancel(pks: Collection[int], reason: str) -> None:
    if pks:
        Delivery.objects.filter(pk__in=among_numbers(pks)).update(
            status=Delivery.Status.CANCELLED, reason=reason, due_at=None, fence=F("fence") + 1
        )
