"""The calls about changes, log, statistics and traces, as the OpenAPI document shows them."""

import pytest

from config.records.models import ChangeRecord, LogEntry
from tests.api_examples import Tour
from tests.notifications.alerts import make_alert

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


def test_the_examples_are_what_the_calls_answer() -> None:
    tour = Tour("config.audit.api")
    client = tour.call("POST", "/clients/", {"name": "watch", "url": "https://watch.example/hook"})["id"]
    tour.call("POST", "/sensors/", {"id": "0xA", "address": "1 Gate Street", "clients": [client]})
    tour.call("PATCH", "/sensors/0xA/", {"address": "1 Date Street"})
    change = ChangeRecord.objects.filter(kind="sensor").latest("pk")
    tour.show("The address was wrong", "POST", f"/changes/{change.pk}/revert/")
    tour.call("POST", "/signals/", {"sensor_id": "0xA", "data": 1}, correlation_id="door-opened-1")
    make_alert()
    assert LogEntry.objects.exists()
    tour.show("What was logged about Redis", "GET", "/log/?text=redis")
    tour.show("By client", "GET", "/statistics/?by=client")
    at = "2026-01-31T10:02:00.000Z"
    tour.call("POST", "/signals/", {"sensor_id": "0xA", "data": 0, "at": at, "id": "a-17"})
    asked = f"/explain/?sensor=0xA&client={client}&at={at}"
    tour.show("A client that was not notified", "GET", asked)
    tour.show("Everything that one call caused", "GET", "/trace/door-opened-1/")
    tour.check()
