from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from config.common.times import format_time, to_milliseconds
from config.records.models import ChangeRecord
from sensors.api import clients
from sensors.history.database import store_in_transaction
from sensors.ingest.apply import apply_signals
from sensors.ingest.signals import Signal
from sensors.models import Client, LinkRecord, Sensor
from sensors.services.clients import create_client
from sensors.services.sensors import create_sensor, update_sensor
from tests.sensors.api.callers import of_client, service

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

WRONG = ["", "yesterday", "2026-01-01", "2026-01-01T12:00:00", "9999-12-31T23:59:59Z", "0" * 5000]


def ago(**span: float) -> datetime:
    return timezone.now() - timedelta(**span)


@pytest.fixture
def client_id() -> int:
    """A client and a sensor, registered a day ago and unlinked an hour ago, whose door was open in between."""
    made = create_client(actor="anna", name="watch", url="https://watch.example/")
    create_sensor(sensor_id="0xA", address="there", clients=[made.client_id], actor="anna")
    ChangeRecord.objects.update(at=ago(days=1))
    LinkRecord.objects.update(at=ago(days=1))
    Client.objects.update(created_at=ago(days=1))
    Sensor.objects.update(created_at=ago(days=1))
    signals = [
        Signal("0xA", to_milliseconds(ago(hours=hours)), f"{hours}", data, to_milliseconds(ago(hours=hours)))
        for hours, data in ((5, 0), (4, 1), (2, 0))
    ]
    apply_signals(signals, also=store_in_transaction)
    update_sensor(sensor_id="0xA", address="here", clients=[], actor="anna")
    ChangeRecord.objects.filter(action="changed").update(at=ago(hours=1))
    LinkRecord.objects.filter(is_linked=False).update(at=ago(hours=1))
    return made.client_id


class TestSensor:
    def test_is_answered_as_it_was(self, client_id: int) -> None:
        at = format_time(ago(hours=3))
        answer = service("registry:read")("GET", f"/sensors/0xA/?at={at}").json()
        assert answer == {
            "id": "0xA",
            "address": "there",
            "notes": "",
            "active": True,
            "heartbeat_timeout": 3600,
            "open_limit": None,
            "muted_until": None,
            "clients": [client_id],
            "state": 1,
            "state_changed_at": answer["state_changed_at"],
            "last_seen_at": answer["last_seen_at"],
            "connection": "online",
            "as_of": at,
        }
        assert answer["state_changed_at"] == answer["last_seen_at"]

    def test_without_a_time_the_answer_is_as_ever(self, client_id: int) -> None:
        answer = service("registry:read")("GET", "/sensors/0xA/").json()
        assert (answer["address"], answer["clients"], answer["state"]) == ("here", [], 0)
        assert "as_of" not in answer

    @pytest.mark.parametrize("at", WRONG)
    @pytest.mark.parametrize("path", ["/sensors/0xA/", "/clients/{client}/", "/sensors/0xA/clients/{client}/"])
    def test_a_bad_time_is_refused_by_name(self, client_id: int, path: str, at: str) -> None:
        answer = service("registry:read")("GET", f"{path.format(client=client_id)}?at={at}")
        assert (answer.status_code, list(answer.json()["data"]["fields"])) == (400, ["at"])

    def test_before_it_was_registered(self, client_id: int) -> None:
        answer = service("registry:read")("GET", f"/sensors/0xA/?at={format_time(ago(days=2))}")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_registered_then")

    def test_before_the_records_begin(self, client_id: int, settings: Any) -> None:
        settings.CHANGE_DAYS = 30
        Sensor.objects.update(created_at=ago(days=100))
        ChangeRecord.objects.filter(action="created").delete()
        answer = service("registry:read")("GET", f"/sensors/0xA/?at={format_time(ago(days=50))}")
        assert (answer.status_code, answer.json()["code"]) == (404, "before_records")
        assert answer.json()["data"]["records_begin"].endswith("Z")

    def test_a_client_sees_itself_alone(self, client_id: int) -> None:
        other = create_client(actor="anna", name="other", url="https://other.example/").client_id
        update_sensor(sensor_id="0xA", clients=[client_id, other], actor="anna")
        mine = of_client(Client.objects.get(pk=client_id))
        assert mine("GET", f"/sensors/0xA/?at={format_time(timezone.now() + timedelta(seconds=1))}").json()[
            "clients"
        ] == [client_id]
        assert mine("GET", f"/sensors/0xA/clients/{other}/").status_code == 404


class TestClient:
    def test_is_answered_with_the_sensors_of_then(self, client_id: int) -> None:
        then, now = (
            service("registry:read")("GET", f"/clients/{client_id}/?at={format_time(at)}").json()
            for at in (ago(hours=3), timezone.now())
        )
        assert (then["sensors"], then["sensor_count"], now["sensors"]) == (["0xA"], 1, [])

    def test_names_so_many_sensors_and_counts_the_others(self, client_id: int, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(clients, "SENSORS_NAMED", 2)
        for n in range(3):
            create_sensor(sensor_id=f"s{n}", address="here", clients=[client_id], actor="anna")
        at = format_time(timezone.now() + timedelta(seconds=1))
        answer = service("registry:read")("GET", f"/clients/{client_id}/?at={at}").json()
        assert (answer["sensors"], answer["sensor_count"]) == (["s0", "s1"], 3)
        rest = service("registry:read")("GET", f"/clients/{client_id}/?at={at}&after=s1").json()
        assert (rest["sensors"], rest["sensor_count"]) == (["s2"], 3)


class TestLink:
    def test_is_answered_as_it_was(self, client_id: int) -> None:
        ask = service("registry:read")
        then = ask("GET", f"/sensors/0xA/clients/{client_id}/?at={format_time(ago(hours=3))}").json()
        now = ask("GET", f"/sensors/0xA/clients/{client_id}/").json()
        assert (then["linked"], now["linked"], now["sensor_id"], now["client_id"]) == (True, False, "0xA", client_id)
        assert then["since"] < now["since"]

    def test_a_client_learns_nothing_of_a_sensor_that_was_never_its_own(self, client_id: int) -> None:
        other = create_client(actor="anna", name="other", url="https://other.example/").client_id
        former, stranger = (of_client(Client.objects.get(pk=pk)) for pk in (client_id, other))
        assert former("GET", f"/sensors/0xA/clients/{client_id}/").json()["linked"] is False
        for at in ("", f"?at={format_time(ago(hours=3))}", f"?at={format_time(ago(days=50))}"):
            answers = [stranger("GET", f"/sensors/{sensor}/clients/{other}/{at}") for sensor in ("0xA", "0xNone")]
            assert [(each.status_code, each.json()["code"]) for each in answers] == [(404, "sensor_not_found")] * 2

    def test_writing_still_takes_its_scope(self, client_id: int) -> None:
        assert service("registry:read")("PUT", f"/sensors/0xA/clients/{client_id}/").status_code == 403
