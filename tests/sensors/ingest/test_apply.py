from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.utils import timezone

from config.common.times import to_milliseconds
from notifications.models import Delivery, Event
from sensors.ingest.apply import apply_signals
from sensors.ingest.signals import Code, Rejection, Signal
from sensors.models import RejectedSignal, SensorState
from tests.sensors.registry import link, make_client, make_sensor

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


def signal(sensor: str = "0xA", data: int = 1, *, after: int = 0, id: str = "a") -> Signal:
    now = to_milliseconds(timezone.now())
    return Signal(sensor, now - 60_000 + after, id, data, now)


class TestApplySignals:
    def test_writes_value_mark_and_last_seen(self) -> None:
        make_sensor()
        sent = signal()
        assert apply_signals([sent]).accepted == [sent]
        state = SensorState.objects.get()
        assert (state.value, state.last_id, to_milliseconds(state.last_at)) == (1, "a", sent.at)
        assert to_milliseconds(state.seen_at) == sent.received_at
        assert state.check_at == state.heard_at + timedelta(hours=1)

    def test_a_change_is_an_event_and_a_delivery_to_every_active_client(self) -> None:
        make_sensor()
        for client in (make_client("one"), make_client("two"), make_client("asleep", active=False)):
            link("0xA", client)
        apply_signals([signal()])
        event = Event.objects.get()
        assert (event.type, event.subject, event.payload["data"]) == ("sensor.state_changed", "sensor/0xA", 1)
        assert Delivery.objects.filter(status="pending").count() == 2
        body = Delivery.objects.first().body
        assert set(body) == {"version", "type", "sensor_id", "address", "data", "previous", "at"}

    def test_running_it_twice_changes_nothing(self) -> None:
        make_sensor()
        link("0xA", make_client())
        batch = [signal(data=1, id="a"), signal(data=0, after=1, id="b")]
        apply_signals(batch)
        before = list(SensorState.objects.values())
        apply_signals(batch[::-1])
        assert list(SensorState.objects.values()) == before
        assert (Event.objects.count(), Delivery.objects.count()) == (2, 2)

    def test_inside_one_batch_only_the_newest_message_is_left_to_send(self) -> None:
        make_sensor()
        link("0xA", make_client())
        apply_signals([signal(data=n % 2, after=n, id=str(n)) for n in range(3)])
        assert Event.objects.count() == 3
        old, older, newest = Delivery.objects.order_by("id")
        assert [row.status for row in (old, older, newest)] == ["superseded", "superseded", "pending"]
        assert {old.superseded_by_id, older.superseded_by_id} == {newest.pk}

    def test_a_newer_state_supersedes_the_pending_message_of_an_earlier_batch(self) -> None:
        make_sensor()
        link("0xA", make_client())
        apply_signals([signal(data=1, id="a")])
        apply_signals([signal(data=0, after=5, id="b")])
        first, second = Delivery.objects.order_by("id")
        assert (first.status, first.superseded_by, second.status) == ("superseded", second, "pending")

    def test_unknown_and_inactive_are_refused_and_kept(self) -> None:
        make_sensor()
        make_sensor("off", active=False)
        applied = apply_signals([signal("nobody"), signal(), signal("off"), Rejection(0, Code.BAD_JSON, "broken")])
        assert [signal.sensor_id for signal in applied.accepted] == ["0xA"]
        assert {place: refusal.code for place, refusal in applied.refused.items()} == {
            0: Code.UNKNOWN_SENSOR,
            2: Code.INACTIVE_SENSOR,
            3: Code.BAD_JSON,
        }
        kept = RejectedSignal.objects.values_list("code", flat=True)
        assert sorted(kept) == ["bad_json", "inactive_sensor", "unknown_sensor"]

    def test_equal_refusals_within_a_minute_are_one_row_with_a_counter(self) -> None:
        now = timezone.now().replace(second=5)
        apply_signals([signal("nobody", id=str(n)) for n in range(3)])
        apply_signals([signal("nobody")])
        assert sum(RejectedSignal.objects.values_list("count", flat=True)) == 4
        assert RejectedSignal.objects.count() <= 2, now

    def test_a_batch_costs_the_same_statements_whatever_its_size(self, django_assert_max_num_queries: Any) -> None:
        for n in range(50):
            make_sensor(f"s{n}")
            link(f"s{n}", make_client(str(n)))
        with django_assert_max_num_queries(12):
            apply_signals([signal(f"s{n}") for n in range(50)])

    def test_five_restores_of_one_client_are_one_list(self) -> None:
        client = make_client()
        for n in range(5):
            make_sensor(f"s{n}")
            link(f"s{n}", client)
        apply_signals([signal(f"s{n}") for n in range(5)])
        SensorState.objects.update(lost_at=timezone.now() - timedelta(minutes=1), check_at=None)
        apply_signals([signal(f"s{n}", after=60_000, id="b") for n in range(5)])
        lists = Delivery.objects.filter(type="sensor.connections_restored")
        assert [len(row.body["sensors"]) for row in lists] == [5]
        assert Event.objects.filter(type="sensor.connection_restored").count() == 5


@pytest.mark.django_db(transaction=True)
def test_two_consumers_with_the_same_sensors_end_in_the_fold(in_threads: Callable[..., list[None]]) -> None:
    for n in range(5):
        make_sensor(f"s{n}")
    now = to_milliseconds(timezone.now())
    signals = [Signal(f"s{n % 5}", now - 1000 + n, str(n), n % 3 % 2, now) for n in range(400)]

    def consume(number: int) -> None:
        mine = signals[number::8] + signals[::16]
        for start in range(0, len(mine), 20):
            apply_signals(mine[start : start + 20])

    in_threads(consume, 8)
    expected = {
        f"s{n}": max((each for each in signals if each.sensor_id == f"s{n}"), key=lambda each: (each.at, each.id)).data
        for n in range(5)
    }
    assert dict(SensorState.objects.values_list("sensor_id", "value")) == expected
    for n in range(5):
        values = [event.payload["data"] for event in Event.objects.filter(subject=f"sensor/s{n}").order_by("id")]
        assert all(one != following for one, following in pairwise(values))
        assert values[-1] == expected[f"s{n}"]
