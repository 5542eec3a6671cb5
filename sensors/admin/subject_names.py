"""Names and links of clients and sensors for the pages of notifications."""

import re
from collections.abc import Collection

from django.urls import reverse
from django.utils.translation import gettext

from config.common.database.sql import in_number_array
from notifications.names import Named, Names, numbers_of, parts_of, register_names
from sensors.ingest.rejections import SUBJECT as SIGNALS
from sensors.models import Client
from sensors.models.registry import SENSOR_ID
from sensors.services.clients import KIND as CLIENT
from sensors.subjects import PREFIX, subject_of

MOST_FOUND = 50


def name_endpoints(endpoint_ids: Collection[int]) -> dict[int, Named]:
    owners = Client.objects.filter(endpoint__in=in_number_array(endpoint_ids))
    return {
        endpoint_id: Named(name, reverse("admin:sensors_client_change", args=[pk]))
        for endpoint_id, pk, name in owners.values_list("endpoint_id", "pk", "name")
    }


def name_subjects(subjects: Collection[str]) -> dict[str, Named]:
    found = {
        subject: Named(sensor_id, reverse("admin:sensors_sensor_change", args=[sensor_id]))
        for subject, sensor_id in parts_of(subjects, PREFIX).items()
        if re.fullmatch(SENSOR_ID, sensor_id)
    }
    numbers = numbers_of(subjects, f"{CLIENT}/")
    clients = Client.objects.filter(pk__in=in_number_array(set(numbers.values()))) if numbers else Client.objects.none()
    names = dict(clients.values_list("pk", "name"))
    for subject, number in numbers.items():
        if number in names:
            found[subject] = Named(names[number], reverse("admin:sensors_client_change", args=[number]))
    if SIGNALS in subjects:
        found[SIGNALS] = Named(gettext("rejected signals"), reverse("admin:sensors_rejectedsignal_changelist"))
    return found


def find_endpoints(text: str) -> list[int]:
    return list(Client.objects.filter(name__icontains=text).values_list("endpoint_id", flat=True)[:MOST_FOUND])


def find_subject(text: str) -> str | None:
    return subject_of(text) if re.fullmatch(SENSOR_ID, text) else None


register_names(Names(name_subjects, find_subject=find_subject, endpoints=name_endpoints, find_endpoints=find_endpoints))
