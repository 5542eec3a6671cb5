import pytest
from django.db import connection
from django.db.models import QuerySet

from messaging.models import Device
from sensors.models import Client, Sensor

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("rows", "index"),
    [
        (Sensor.objects.filter(address__icontains="lenina"), "sensor_address_trigrams"),
        (Client.objects.filter(name__icontains="watch"), "client_name_trigrams"),
        (Device.objects.filter(name__icontains="phone"), "device_name_trigrams"),
    ],
)
def test_a_part_is_found_by_the_index(rows: "QuerySet[Sensor | Client | Device]", index: str) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("the index is PostgreSQL's")
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")  # an empty table is read whole
    assert index in rows.order_by().explain()
