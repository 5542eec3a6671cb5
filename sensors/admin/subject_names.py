"""Names and links of clients and sensors for the pages of notifications."""

import re
from collections.abc import Collection

from django.urls import reverse

from config.common.database.sql import in_number_array
from notifications.names import Named, Names, register_names
from sensors.models import Client
from sensors.models.registry import SENSOR_ID
from sensors.subjects import find_sensor_id, subject_of

MOST_FOUND = 50


def name_endpoints(endpoint_ids: Collection[int]) -> dict[int, Named]:
    owners = Client.objects.filter(endpoint__in=in_number_array(endpoint_ids))
    return {
        endpoint_id: Named(name, reverse("admin:sensors_client_change", args=[pk]))
        for endpoint_id, pk, name in owners.values_list("endpoint_id", "pk", "name")
    }


def name_subject(subject: str) -> Named | None:
    sensor_id = find_sensor_id(subject)
    if sensor_id is None:
        return None
    return Named(sensor_id, reverse("admin:sensors_sensor_change", args=[sensor_id]))


def find_endpoints(text: str) -> list[int]:
    return list(Client.objects.filter(name__icontains=text).values_list("endpoint_id", flat=True)[:MOST_FOUND])


def find_subject(text: str) -> str | None:
    return subject_of(text) if re.fullmatch(SENSOR_ID, text) else None


register_names(Names(name_subject, find_subject=find_subject, endpoints=name_endpoints, find_endpoints=find_endpoints))
