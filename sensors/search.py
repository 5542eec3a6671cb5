"""What the search of the admin finds here: sensors by id and address, clients by number and name."""

import re

from django.urls import reverse

from config.admin_base.search import Found, SearchHit, SearchText, contains, find_by_id, look_through
from sensors.models import Client, Sensor
from sensors.models.registry import SENSOR_ID


def find_sensors(asked: SearchText, most: int) -> Found:
    """Return the sensor of this id, those whose id begins so, then those whose address has it."""
    rows = Sensor.objects.values_list("id", "address")
    found = find_by_id(rows, asked, most) if re.fullmatch(SENSOR_ID, asked.text) else []
    is_whole = True
    if asked.is_part and len(found) < most:
        addressed, is_whole = look_through(rows.filter(contains("address", asked.text)), most)
        found += sorted(set(addressed) - set(found))
    hits = [
        SearchHit(pk, address, reverse("admin:sensors_sensor_change", args=[pk]), is_exact=asked.is_id(pk))
        for pk, address in found[:most]
    ]
    return Found(hits, is_whole)


def find_clients(asked: SearchText, most: int) -> Found:
    """Return the client of this number, then those whose name has this part."""
    rows = Client.objects.values_list("pk", "name", "endpoint__url")
    found = [] if asked.number is None else list(rows.filter(pk=asked.number))
    is_whole = True
    if asked.is_part:
        named, is_whole = look_through(rows.filter(contains("name", asked.text)), most)
        found += sorted(set(named) - set(found), key=lambda row: row[1])
    hits = [
        SearchHit(
            name,
            url,
            reverse("admin:sensors_client_change", args=[pk]),
            is_exact=pk == asked.number or name.lower() == asked.text.lower(),
        )
        for pk, name, url in found[:most]
    ]
    return Found(hits, is_whole)
