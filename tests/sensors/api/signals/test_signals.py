import json
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from config.access.keys import create_key
from config.common.correlation import correlated
from config.common.times import to_milliseconds
from config.engines.amqp import connect
from config.engines.circuit_breaker import CircuitBreaker
from config.engines.publisher import NotPublished
from notifications.models import Event
from sensors.ingest import accept, signal_queue
from sensors.ingest.accept import accept_signals
from sensors.ingest.signals import Origin
from sensors.models import RejectedSignal, SensorState, StoredSignal
from tests.faults.silent_servers import Proxy, SilentServer
from tests.sensors.amqp import Broker, broker, consume
from tests.sensors.api.callers import Caller, service
from tests.sensors.api.test_history import get
from tests.sensors.registry import make_sensor
from tests.servers.private_server import HOST

__all__ = ["broker"]

PATIENCE = 6.0
"""One time-out of 2 s, on a busy machine."""


def now_text(**ahead: float) -> str:
    return (timezone.now() + timedelta(**ahead)).isoformat()


@pytest.fixture
def send() -> Caller:
    return service("signals:write")


@pytest.mark.embedded
@pytest.mark.django_db
class TestSignals:
    def test_one_signal_is_accepted_and_is_state_event_and_history(self, send: Caller) -> None:
        make_sensor()
        answer = send("POST", "/signals/", {"sensor_id": "0xA", "data": 1})
        assert (answer.status_code, answer.json()) == (202, {"accepted": 1, "rejected": []})
        assert SensorState.objects.get().value == 1
        assert Event.objects.get().payload["data"] == 1
        assert StoredSignal.objects.count() == 1

    def test_a_repeat_counts_as_accepted_and_does_nothing(self, send: Caller) -> None:
        make_sensor()
        signal = {"sensor_id": "0xA", "data": 1, "at": now_text(), "id": "a"}
        assert send("POST", "/signals/", [signal, signal]).json()["accepted"] == 2
        assert send("POST", "/signals/", signal).json() == {"accepted": 1, "rejected": []}
        assert (Event.objects.count(), StoredSignal.objects.count()) == (1, 1)

    def test_names_each_bad_item_of_a_list_and_takes_the_rest(self, send: Caller) -> None:
        make_sensor()
        make_sensor("off", active=False)
        items: list[Any] = [
            {"sensor_id": "0xA", "data": True},
            {"sensor_id": "0xA", "data": 0},
            {"sensor_id": "nobody", "data": 0},
            {"sensor_id": "off", "data": 0},
            {"sensor_id": "0xA", "data": 0, "id": "x"},
            {"sensor_id": "0xA", "data": 0, "at": now_text(minutes=6), "id": "y"},
            7,
        ]
        answer = send("POST", "/signals/", items).json()
        assert answer["accepted"] == 1
        assert [(row["index"], row["code"]) for row in answer["rejected"]] == [
            (0, "bad_data"),
            (2, "unknown_sensor"),
            (3, "inactive_sensor"),
            (4, "bad_time"),
            (5, "from_the_future"),
            (6, "bad_shape"),
        ]
        assert all(row["message"] for row in answer["rejected"])
        assert RejectedSignal.objects.count() == 6

    def test_broken_json_is_an_error_and_is_kept(self, send: Caller) -> None:
        answer = send("POST", "/signals/", b"{broken")
        assert (answer.status_code, answer.json()["code"]) == (400, "bad_json")
        assert RejectedSignal.objects.get().raw == "{broken"

    def test_a_list_of_more_than_a_thousand_is_an_error(self, send: Caller) -> None:
        answer = send("POST", "/signals/", [{"sensor_id": "0xA", "data": 1}] * 1001)
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid")

    def test_an_empty_list_is_accepted(self, send: Caller) -> None:
        assert send("POST", "/signals/", []).json() == {"accepted": 0, "rejected": []}

    def test_needs_its_scope(self) -> None:
        assert Caller(None)("POST", "/signals/", {}).status_code == 401
        assert service("registry:write")("POST", "/signals/", {}).status_code == 403


@pytest.mark.broker
@pytest.mark.django_db(transaction=True)
class TestThroughTheQueue:
    def test_publishes_what_is_acceptable_and_names_the_rest(self, broker: Broker, send: Caller) -> None:
        make_sensor()
        items = [{"sensor_id": "0xA", "data": 1, "at": now_text(), "id": "a"}, {"sensor_id": "nobody", "data": 1}]
        with correlated("call-12345"):
            answer = send("POST", "/signals/", items).json()
        assert (answer["accepted"], answer["rejected"][0]["code"]) == (1, "unknown_sensor")
        assert not Event.objects.exists()
        consume(lambda: Event.objects.exists())
        assert Event.objects.get().correlation_id == "call-12345"
        assert [signal.id for signal in broker.history()] == ["a"]

    def test_applies_directly_what_the_broker_does_not_take(
        self, broker: Broker, send: Caller, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: Any) -> None:
            raise NotPublished("away")

        make_sensor()
        monkeypatch.setattr(accept, "publish_signals", refuse)
        monkeypatch.setattr(accept, "_broker", CircuitBreaker(calls=1))
        assert send("POST", "/signals/", {"sensor_id": "0xA", "data": 1}).json()["accepted"] == 1
        assert (Event.objects.count(), StoredSignal.objects.count()) == (1, 1)
        assert broker.waiting() == 0

    @pytest.mark.slow
    def test_a_mute_broker_keeps_one_call_for_a_moment_and_the_others_not_at_all(
        self,
        unknown_broker: None,
        send: Caller,
        settings: Any,
        in_threads: Callable[..., list[float]],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        make_sensor()
        # So long that on a busy machine, too, whoever waits is told from who is slow.
        monkeypatch.setattr(signal_queue, "PUBLISH_SECONDS", 8.0)
        with SilentServer() as mute:
            settings.AMQP_URL = f"amqp://guest:guest@{HOST}:{mute.port}/"
            took = sorted(in_threads(lambda _: send_one(send), 8))
            assert took[-2] < took[-1] / 2, "one waits for all of them"
            assert send_one(send) < signal_queue.PUBLISH_SECONDS
            assert mute.connections == 1
        assert StoredSignal.objects.count() == 9

    @pytest.mark.slow
    def test_one_that_falls_silent_before_it_has_opened_a_channel_is_left_too(
        self, unknown_broker: None, send: Caller, settings: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        make_sensor()
        with Proxy.to(settings.AMQP_URL) as proxy:
            settings.AMQP_URL = proxy.rewrite(settings.AMQP_URL)
            monkeypatch.setattr(signal_queue, "connect", proxy.silence_after(connect))
            assert send_one(send) < PATIENCE
            # Whoever waited would take no less; half a second is too short for a busy machine.
            assert send_one(send) < signal_queue.PUBLISH_SECONDS
        assert StoredSignal.objects.count() == 2


@pytest.fixture
def unknown_broker(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process that has not used its broker yet, and what another one knows of it when it ends."""
    monkeypatch.setattr(accept, "_broker", CircuitBreaker(calls=40, rest_seconds=600.0))
    signal_queue._declared.clear()
    yield
    run = signal_queue._declaration._run
    assert run is not None
    run.join(60)
    signal_queue._declared.clear()


def send_one(send: Caller) -> float:
    """Send a signal that must be taken; return how long that took."""
    began = time.monotonic()
    answer = send("POST", "/signals/", {"sensor_id": "0xA", "data": 1})
    assert (answer.status_code, answer.json()) == (202, {"accepted": 1, "rejected": []})
    return time.monotonic() - began


@pytest.fixture
def key() -> str:
    return create_key(name="reader", actor="test", scopes=["history:read"])[1]


@pytest.mark.embedded
@pytest.mark.django_db
class TestRejected:
    def send(self, *items: object) -> None:
        origin = Origin(received_at=to_milliseconds(timezone.now()), over_rest=True)
        accept_signals(json.dumps(items).encode(), origin, by_queue=False)

    def test_lists_what_was_refused_with_reason_and_text(self, key: str) -> None:
        self.send({"sensor_id": "nobody", "data": 1, "id": "ü" * 2000}, {"sensor_id": "0xA", "data": 7})
        rows = get("/signals/rejected/", key).json()["results"]
        assert {row["code"] for row in rows} == {"bad_data", "bad_time"}
        assert all(len(row["raw"].encode()) <= 1024 + 3 for row in rows)
        assert set(rows[0]) == {
            "id",
            "code",
            "message",
            "sensor_id",
            "raw",
            "count",
            "minute",
            "last_at",
            "correlation_id",
        }
        assert rows[0]["minute"].endswith(":00.000Z")

    def test_pages(self, key: str) -> None:
        for n in range(5):
            self.send({"sensor_id": f"s{n}", "data": 9})
        answer = get("/signals/rejected/", key, limit="3").json()
        rest = get(answer["next"], key).json()
        assert [row["sensor_id"] for row in [*answer["results"], *rest["results"]]] == ["s4", "s3", "s2", "s1", "s0"]
