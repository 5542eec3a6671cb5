from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client as Browser
from django.utils import timezone

from config.common.times import format_time, to_milliseconds
from config.records.models import ChangeRecord
from sensors.history.database import DatabaseStore, store_in_transaction
from sensors.history.errors import HistoryAway
from sensors.ingest.apply import apply_signals
from sensors.ingest.signals import Signal
from sensors.models import Client, LinkRecord, Sensor
from sensors.services.clients import create_client, update_client
from sensors.services.sensors import create_sensor, update_sensor
from tests.sensors.registry import hear
from tests.staff import signed_in

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

SENSOR = "/admin/sensors/sensor/0xA/change/"


def ago(**span: float) -> datetime:
    return timezone.now() - timedelta(**span)


@pytest.fixture
def browser() -> Browser:
    hear()
    return signed_in("viewer")


@pytest.fixture(autouse=True)
def client_id() -> int:
    """A client and its sensor, registered a day ago; an hour ago both were changed and unlinked."""
    made = create_client(actor="anna", name="old name", url="https://watch.example/")
    create_sensor(sensor_id="0xA", address="old place", clients=[made.client_id], actor="anna")
    ChangeRecord.objects.update(at=ago(days=1))
    LinkRecord.objects.update(at=ago(days=1))
    Client.objects.update(created_at=ago(days=1))
    Sensor.objects.update(created_at=ago(days=1))
    at = to_milliseconds(ago(hours=4))
    apply_signals([Signal("0xA", at, "a", 1, at)], also=store_in_transaction)
    update_sensor(sensor_id="0xA", address="new place", clients=[], actor="anna")
    update_client(client_id=made.client_id, name="new name", actor="anna")
    ChangeRecord.objects.filter(action="changed").update(at=ago(hours=1))
    LinkRecord.objects.filter(is_linked=False).update(at=ago(hours=1))
    return made.client_id


def text_of(browser: Browser, page: str, at: datetime | str) -> str:
    time = at if isinstance(at, str) else format_time(at)
    return browser.get(page, {"at": time}).content.decode()


class TestSensor:
    def test_shows_state_links_and_settings_of_then(self, browser: Browser, client_id: int) -> None:
        then, now = text_of(browser, SENSOR, ago(hours=3)), text_of(browser, SENSOR, timezone.now())
        assert "old place" in then
        assert f"/admin/sensors/client/{client_id}/change/?at=" in then
        assert "open" in then
        assert "new place" in now
        assert f"/admin/sensors/client/{client_id}/change/?at=" not in now

    @pytest.mark.parametrize("at", ["", "yesterday", "9999-01-01T00:00:00Z", "2026-13-01T00:00"])
    def test_a_bad_time_is_400_with_the_reason(self, browser: Browser, at: str) -> None:
        answer = browser.get(SENSOR, {"at": at})
        assert answer.status_code == 400
        assert answer.context["error"]

    def test_before_it_was_registered_it_says_so(self, browser: Browser) -> None:
        assert "was not registered yet" in text_of(browser, SENSOR, ago(days=3))

    def test_before_the_records_begin_it_says_so(self, browser: Browser, settings: Any) -> None:
        settings.CHANGE_DAYS = 1
        Sensor.objects.update(created_at=ago(days=10))
        ChangeRecord.objects.filter(action="created").delete()
        assert "do not reach back" in text_of(browser, SENSOR, ago(days=3))

    def test_without_history_it_says_so_and_shows_the_rest(
        self, browser: Browser, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def away(*args: Any, **named: Any) -> Any:
            raise HistoryAway

        monkeypatch.setattr(DatabaseStore, "read_events", away)
        text = text_of(browser, SENSOR, ago(hours=3))
        assert "History is not available" in text
        assert "old place" in text

    def test_is_only_for_those_who_may_see_sensors(self) -> None:
        assert Browser().get(SENSOR, {"at": "2026-01-01T00:00:00Z"}).status_code == 302


class TestClient:
    def test_shows_settings_and_sensors_of_then(self, browser: Browser, client_id: int) -> None:
        page = f"/admin/sensors/client/{client_id}/change/"
        then, now = text_of(browser, page, ago(hours=3)), text_of(browser, page, timezone.now())
        assert "old name" in then
        assert "/admin/sensors/sensor/0xA/change/?at=" in then
        assert "/admin/sensors/sensor/0xA/change/?at=" not in now


class TestLink:
    def test_shows_whether_and_since_when(self, browser: Browser, client_id: int) -> None:
        page = f"/admin/sensors/sensor/0xA/clients/{client_id}/"
        facts = [
            [fact.value for fact in browser.get(page, query).context["then"].facts]
            for query in ({"at": format_time(ago(hours=3))}, {})
        ]
        assert facts == [["yes", "anna"], ["no", "anna"]]

    def test_of_what_is_not_there_is_404(self, browser: Browser, client_id: int) -> None:
        assert browser.get(f"/admin/sensors/sensor/0xB/clients/{client_id}/").status_code == 404
        assert browser.get("/admin/sensors/sensor/0xA/clients/999999/").status_code == 404
