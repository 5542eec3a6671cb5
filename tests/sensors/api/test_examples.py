"""The calls about sensors, clients, signals, history and deliveries, as the OpenAPI document shows them."""

from collections.abc import Iterator
from ipaddress import ip_network
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from drf_spectacular.settings import spectacular_settings

from config.common.times import to_milliseconds
from notifications.models import Attempt, Delivery
from sensors.events import ConnectionLost, ConnectionRestored, LeftOpen, LossWithdrawn, SensorEvent
from sensors.services.publish import LIST_FROM, publish_sensor_events
from tests.api_examples import Tour
from tests.webhook_receiver import Receiver, run_receiver

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]
PACKAGE = "sensors.api"
TABLE = """\
id,address,notes,active,heartbeat_timeout,clients
0xA,1 Gate Street,front door,true,3600,
0xC,3 Gate Street,,true,600,
"""


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    settings.WEBHOOK_ALLOWED_NETWORKS = [ip_network("127.0.0.0/8")]
    with run_receiver() as receiver:
        yield receiver


def test_the_examples_are_what_the_calls_answer(receiver: Receiver) -> None:
    tour = Tour(PACKAGE)
    client = show_registry(tour, receiver)
    show_signals(tour, client)
    show_deliveries(tour, client)
    note_webhooks(tour, client)
    show_ends(tour, client)
    tour.check()


def show_registry(tour: Tour, receiver: Receiver) -> int:
    new = {"name": "watch", "url": receiver.url("/200/hook")}
    client = int(tour.show("A client with its webhook", "POST", "/clients/", new)["id"])
    sensor = {"id": "0xA", "address": "1 Gate Street", "heartbeat_timeout": 3600, "clients": [client]}
    tour.show("A door sensor with one client", "POST", "/sensors/", sensor)
    tour.call("POST", "/sensors/", {"id": "0xB", "address": "2 Gate Street"})
    tour.show("Move the sensor and note why", "PATCH", "/sensors/0xA/", {"address": "1a Gate Street", "notes": "moved"})
    tour.show("Rename the client", "PATCH", f"/clients/{client}/", {"name": "night watch"})
    tour.show("The client is notified about the sensor", "PUT", f"/sensors/0xB/clients/{client}/")
    tour.show("The client is not notified any more", "DELETE", f"/sensors/0xB/clients/{client}/")
    tour.show("All clients", "GET", "/clients/")
    tour.show("One client", "GET", f"/clients/{client}/")
    tour.show("Who changed the sensor", "GET", "/sensors/0xA/changes/?limit=2")
    tour.show("Who changed the client", "GET", f"/clients/{client}/changes/?limit=2")
    tour.show("What a table would change", "POST", "/sensors/import/?dry_run=true", TABLE, media_type="text/csv")
    tour.show("The table", "GET", "/sensors/export/?search=Gate")
    return client


def show_signals(tour: Tour, client: int) -> None:
    tour.show("The door opens", "POST", "/signals/", {"sensor_id": "0xA", "data": 1})
    one = {"sensor_id": "0xA", "data": 0, "at": "2026-01-31T23:59:59.000Z", "id": "gate-7:42"}
    many = [one, {"sensor_id": "0xFF", "data": 1}]
    tour.show("A list, of which some cannot be used", "POST", "/signals/", many)
    tour.show("What was refused", "GET", "/signals/rejected/?limit=1")
    tour.show("Open doors of one client", "GET", f"/sensors/?client={client}&state=1")
    tour.show("One sensor", "GET", "/sensors/0xA/")
    tour.show("Since when a client is notified", "GET", f"/sensors/0xA/clients/{client}/")
    tour.show("All signals of a sensor", "GET", "/sensors/0xA/history/")
    tour.show("The same as a table", "GET", "/sensors/0xA/history/?format=csv")
    tour.show("Changes of state of all sensors of a client", "GET", f"/clients/{client}/history/?changes=true")
    tour.show("Events of a sensor", "GET", "/sensors/0xA/events/?from=2026-01-01T00:00:00.000Z")
    tour.show("Events of a client's sensors", "GET", f"/clients/{client}/events/")


def show_deliveries(tour: Tour, client: int) -> None:
    delivery = Delivery.objects.get(type="sensor.state_changed")
    Attempt.objects.create(
        delivery=delivery, at=timezone.now(), url=delivery.endpoint.url, status=500, duration_ms=7, error="answered 500"
    )
    tour.show("One delivery", "GET", f"/deliveries/{delivery.pk}/")
    tour.show("Deliveries about a sensor", "GET", "/sensors/0xA/deliveries/")
    tour.show("Deliveries to a client", "GET", f"/clients/{client}/deliveries/")
    tour.show("Send it again", "POST", f"/deliveries/{delivery.pk}/resend/")
    tour.show("The client answers", "POST", f"/clients/{client}/ping/")


def note_webhooks(tour: Tour, client: int) -> None:
    ids = [f"0xD{number}" for number in range(LIST_FROM)]
    for sensor_id in ids:
        tour.call("POST", "/sensors/", {"id": sensor_id, "address": "4 Gate Street", "clients": [client]})
    now = timezone.now()
    at = to_milliseconds(now)
    before, hour = at - 5_400_000, 3_600_000
    published: list[list[SensorEvent]] = [
        [ConnectionLost("0xA", at, at - hour)],
        [ConnectionRestored("0xA", at, 1, before, 5400)],
        [LossWithdrawn("0xA", at, before)],
        [LeftOpen("0xA", at, at - 600_000, 600)],
        [ConnectionLost(sensor_id, at, at - hour) for sensor_id in ids],
        [ConnectionRestored(sensor_id, at, 1, before, 5400) for sensor_id in ids],
    ]
    for events in published:
        with transaction.atomic():
            publish_sensor_events(events, now=now)
    titles = {webhook.name: "What the client gets" for webhook in spectacular_settings.WEBHOOKS}
    for name in Delivery.objects.values_list("type", flat=True).distinct():
        tour.note(name, titles.pop(name), Delivery.objects.filter(type=name).latest("pk").body)
    assert set(titles) == {"session.repeat", "workflow.message"}  # of other apps


def show_ends(tour: Tour, client: int) -> None:
    tour.show("A new secret", "POST", f"/clients/{client}/rotate-secret/")
    tour.show("Send nothing for now", "POST", f"/clients/{client}/pause/")
    tour.show("Go on", "POST", f"/clients/{client}/resume/")
    tour.show("Deactivate the sensor", "DELETE", "/sensors/0xB/")
    tour.show("Deactivate the client", "DELETE", f"/clients/{client}/")
