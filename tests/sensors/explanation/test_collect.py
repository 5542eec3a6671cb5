"""How far it is looked for what happened; and the same questions where history is in ClickHouse, a little later."""

from typing import Any

import pytest
from django.utils import timezone

from config.common.times import format_time, from_milliseconds, to_milliseconds
from config.records.models import ChangeRecord
from notifications.models import Attempt, ListedSubject
from sensors.events import CONNECTION_LOST
from sensors.explanation import answer, collect
from sensors.explanation.verdict import Verdict
from sensors.history.spool import drain_spool_once
from sensors.history.store import get_store
from sensors.history.values import PastEvent
from sensors.models import Client, RejectedSignal, Sensor
from sensors.services.publish import SENSOR_MUTED
from tests.sensors.api.callers import service
from tests.sensors.explanation.questions import SCOPES, ago, ask, say
from tests.sensors.registry import hear, make_client, make_delivery, make_sensor

pytestmark = pytest.mark.django_db
ENDED: dict[str, Any] = {"status": "delivered", "due_at": None}


@pytest.mark.usefixtures("clickhouse_url")
def test_history_behind_until_it_has_been_written() -> None:
    get_store().prepare()
    desk, client, at = service(*SCOPES), make_client(), ago(minutes=5)
    make_sensor(created_at=ago(days=999))
    say(desk, 0, ago(minutes=9))
    say(desk, 0, at, "b")
    hear()
    assert ask(desk, client, at)["verdict"] == Verdict.HISTORY_BEHIND
    while drain_spool_once():
        pass
    assert ask(desk, client, at)["verdict"] == Verdict.UNCHANGED


@pytest.mark.embedded
class TestBounds:
    """One more than is looked at."""

    @pytest.fixture
    def client(self) -> Client:
        make_sensor()
        return make_client()

    def lost(self, **payload: Any) -> PastEvent:
        at = to_milliseconds(ago(minutes=9))
        return PastEvent(1, CONNECTION_LOST, "0xA", at, at, "chain-001", payload)

    def test_refusals_around_a_time(self, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(collect, "MOST_AROUND", 2)
        at = ago(minutes=5)
        for number in range(3):
            RejectedSignal.objects.create(code=f"c{number}", sensor_id="0xA", recorded_at=at, last_at=at)
        found, _ = collect._look_around(Sensor.objects.get(), at, now=timezone.now())
        assert len(found.refusals) == 2

    def test_attempts_of_a_delivery(self, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(collect, "MOST_ATTEMPTS", 2)
        delivery = make_delivery("0xA", client)
        rows = [Attempt(delivery=delivery, at=timezone.now(), url="", duration_ms=n) for n in range(3)]
        Attempt.objects.bulk_create(rows)
        assert [each.duration_ms for each in collect.read_sent(delivery).attempts] == [2, 1]

    def test_lists_that_name_the_sensor(self, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        seen = format_time(ago(minutes=10))
        listed = {**ENDED, "type": "sensor.connections_lost"}
        told = make_delivery("", client, **listed, body={"sensors": [{"sensor_id": "0xA", "last_seen_at": seen}]})
        other = make_delivery("", client, **listed, body={"sensors": []})
        for row in (told, other):
            ListedSubject.objects.create(delivery=row, endpoint=client.endpoint, subject="sensor/0xA")
        event = self.lost(last_seen_at=seen)
        assert collect._find_lists("0xA", client.endpoint_id, event) == [told]
        monkeypatch.setattr(collect, "MOST_LISTS", 1)
        assert collect._find_lists("0xA", client.endpoint_id, event) == []

    def test_deliveries_behind_one_that_a_mute_withheld(self, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        event = self.lost()
        lost = {**ENDED, "type": CONNECTION_LOST, "body": {"at": format_time(from_milliseconds(event.at))}}
        muted = make_delivery("0xA", client, **lost, reason=SENSOR_MUTED, correlation_id="chain-001")
        make_delivery("0xA", client, **ENDED, body={"at": ""})
        told = make_delivery("0xA", client, **lost)
        assert collect._find_delivery("0xA", client.endpoint_id, event) == told
        monkeypatch.setattr(collect, "MOST_LATER", 1)
        assert collect._find_delivery("0xA", client.endpoint_id, event) == muted

    def test_entries_of_the_change_log(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(collect, "MOST_CHANGES", 1)
        for name in ("a", "b"):
            ChangeRecord.objects.create(
                kind="sensor", object_id="0xA", actor="x", action="changed", before={}, after={name: 1}
            )
        [newest] = collect._list_changes("sensor", "0xA", timezone.now())
        assert newest.after == {"b": 1}

    def test_events_beside_a_verdict(self, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(answer, "MOST_NEARBY", 1)
        desk, at = service(*SCOPES), ago(minutes=5)
        hear()
        for number in range(3):
            say(desk, number % 2, ago(minutes=5, seconds=-number), str(number))
        assert len(ask(desk, client, at)["nearby"]) == 1
