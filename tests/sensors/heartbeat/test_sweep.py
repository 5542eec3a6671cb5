from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from config.common.times import to_milliseconds
from notifications.models import Alert, Delivery, Event
from sensors.heartbeat.clock import clock
from sensors.heartbeat.flap_detection import close_calm_alerts_once
from sensors.heartbeat.ingest_liveness import SETTLING, THIS_SERVER, is_outage, judged_until, record_liveness, watermark
from sensors.heartbeat.sweep import sweep_once
from sensors.ingest.apply import apply_signals
from sensors.ingest.signals import Signal
from sensors.models import ConsumerMark, DeafSpan, Probe, Sensor, SensorState, WayIn
from tests.sensors.registry import hear, link, make_client, make_sensor

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

HOUR = timedelta(hours=1)


def ago(**span: float) -> datetime:
    return timezone.now() - timedelta(**span)


def silent(sensor_id: str = "0xA", *, seen: datetime | None = None, **fields: Any) -> SensorState:
    """Make a sensor that spoke two hours ago, or at another time, and has been silent since."""
    sensor = make_sensor(sensor_id, **fields)
    seen = seen or ago(hours=2)
    SensorState.objects.filter(sensor=sensor).update(
        value=1, changed_at=seen, last_at=seen, last_id="a", seen_at=seen, check_at=seen + HOUR
    )
    return SensorState.objects.get(sensor=sensor)


class TestSweepOnce:
    def test_silence_past_the_timeout_is_a_loss_dated_by_its_deadline(self) -> None:
        state = silent()
        link("0xA", make_client())
        hear()
        sweep_once()
        event = Event.objects.get()
        assert (event.type, event.at) == ("sensor.connection_lost", cut(state.seen_at + HOUR))
        assert Delivery.objects.get().body["last_seen_at"].endswith("Z")
        state.refresh_from_db()
        assert (state.lost_at, state.check_at) == (cut(state.seen_at + HOUR), None)

    def test_is_announced_once(self) -> None:
        silent()
        hear()
        sweep_once()
        sweep_once()
        assert Event.objects.count() == 1

    def test_one_that_spoke_since_is_only_looked_at_later(self) -> None:
        state = silent()
        SensorState.objects.update(seen_at=ago(minutes=10))
        hear()
        sweep_once()
        state.refresh_from_db()
        assert state.check_at == state.seen_at + HOUR
        assert not Event.objects.exists()

    def test_a_sensor_that_never_spoke_is_not_lost(self) -> None:
        make_sensor()
        hear()
        sweep_once()
        assert not Event.objects.exists()

    def test_nobody_is_lost_before_we_are_known_to_hear(self) -> None:
        silent()
        sweep_once()
        assert not Event.objects.exists()

    def test_an_outage_is_no_silence(self) -> None:
        silent()
        record_liveness(ago(hours=1.5))
        hear()
        sweep_once()
        assert DeafSpan.objects.count() == 1
        assert not Event.objects.exists()
        due = SensorState.objects.get().check_at
        assert timedelta(minutes=59) < due - timezone.now() < timedelta(minutes=61)

    def test_a_sensor_put_back_into_service_has_its_time_from_then_on(self) -> None:
        state = silent()
        from_the_registry = ago(seconds=5)
        SensorState.objects.update(check_at=from_the_registry)
        hear()
        sweep_once()
        state.refresh_from_db()
        assert state.lost_at == cut(from_the_registry)

    def test_an_inactive_sensor_is_never_lost(self) -> None:
        silent()
        Sensor.objects.update(active=False)
        hear()
        sweep_once()
        assert not Event.objects.exists()

    def test_a_muted_sensor_is_lost_in_history_and_nobody_is_told(self) -> None:
        silent(muted_until=timezone.now() + HOUR)
        link("0xA", make_client())
        hear()
        sweep_once()
        assert Event.objects.get().payload["muted"] is True
        assert (Delivery.objects.get().status, Delivery.objects.get().reason) == ("cancelled", "the sensor is muted")

    def test_a_muted_client_is_not_told_and_the_other_is(self) -> None:
        silent()
        link("0xA", make_client("quiet", muted_until=timezone.now() + HOUR))
        link("0xA", make_client("loud"))
        hear()
        sweep_once()
        assert sorted(Delivery.objects.values_list("status", flat=True)) == ["cancelled", "pending"]

    def test_five_losses_of_one_client_are_one_list_of_at_most_200(self) -> None:
        client = make_client()
        for n in range(205):
            silent(f"s{n}")
            link(f"s{n}", client)
        hear()
        sweep_once()
        lists = Delivery.objects.order_by("id")
        assert [(row.type, len(row.body["sensors"])) for row in lists] == [
            ("sensor.connections_lost", 200),
            ("sensor.connections_lost", 5),
        ]
        assert Event.objects.filter(type="sensor.connection_lost").count() == 205

    def test_a_sweep_with_nobody_due_is_one_look(self, django_assert_num_queries: Any) -> None:
        silent(seen=timezone.now())
        hear()
        with django_assert_num_queries(4):
            sweep_once()


class TestEndOfLoss:
    def test_the_next_signal_restores_with_the_downtime(self) -> None:
        silent()
        link("0xA", make_client())
        hear()
        sweep_once()
        now = to_milliseconds(timezone.now())
        apply_signals([Signal("0xA", now, "b", 1, now)])
        _lost, restored = Event.objects.order_by("id")
        assert restored.type == "sensor.connection_restored"
        assert 3590 < restored.payload["downtime_seconds"] < 3610
        assert [row.status for row in Delivery.objects.order_by("id")] == ["superseded", "pending"]

    def test_a_delayed_signal_withdraws_the_loss(self) -> None:
        state = silent()
        hear()
        sweep_once()
        now = to_milliseconds(timezone.now())
        apply_signals([Signal("0xA", to_milliseconds(state.seen_at + HOUR) - 1, "b", 1, now)])
        assert list(Event.objects.order_by("id").values_list("type", flat=True)) == [
            "sensor.connection_lost",
            "sensor.loss_withdrawn",
        ]
        assert SensorState.objects.get().lost_at is None


class TestFlapping:
    def lose(self, times: int) -> None:
        for n in range(times):
            SensorState.objects.update(lost_at=None, check_at=ago(hours=1))
            sweep_once()
            assert SensorState.objects.get().lost_at is not None, n

    def test_more_than_six_losses_an_hour_are_told_once(self) -> None:
        silent()
        hear()
        self.lose(6)
        assert not Event.objects.filter(type="sensor.flapping").exists()
        self.lose(3)
        event = Event.objects.get(type="sensor.flapping")
        assert (event.subject, event.payload) == ("sensor/0xA", {"sensor_id": "0xA", "losses": 7})

    def test_is_one_alert_in_the_transaction_of_the_losses(self) -> None:
        silent()
        hear()
        self.lose(9)
        alert = Alert.objects.get()
        assert (alert.kind, alert.subject, alert.count) == ("sensor.flapping", "sensor/0xA", 1)
        assert alert.words == "Sensor 0xA keeps losing its connection"

    def test_the_alert_closes_after_an_hour_with_few_losses(self) -> None:
        silent()
        hear()
        self.lose(7)
        close_calm_alerts_once()
        assert Alert.objects.get().status == "open"
        Alert.objects.update(last_at=ago(hours=1, seconds=1))
        close_calm_alerts_once()
        assert Alert.objects.get().status == "open"  # seven losses are still within the hour
        Event.objects.update(recorded_at=ago(hours=1, seconds=1))
        close_calm_alerts_once()
        assert Alert.objects.get().status == "resolved"


class TestHearing:
    def test_without_a_broker_we_hear_as_long_as_calls_are_served(self) -> None:
        assert is_outage()
        hear()
        assert not is_outage()
        assert clock.now() - watermark() < timedelta(seconds=5)

    def test_silence_is_judged_two_checks_later(self) -> None:
        """An outage shorter than that is not seen before the next check."""
        hear()
        assert watermark() - judged_until() == SETTLING

    def test_with_a_broker_nothing_is_judged_later_than_the_last_check_of_each_way_in(self, settings: Any) -> None:
        settings.AMQP_URL = "amqp://nowhere"
        now = clock.look_and_correct()
        closed_since = now - timedelta(minutes=3)
        ConsumerMark.objects.create(consumer="a", heard_at=now)
        Probe.objects.create(sent_at=now - timedelta(seconds=2), passed_at=now - timedelta(seconds=1))
        WayIn.objects.create(pk=WayIn.QUEUE, heard_at=now)
        WayIn.objects.create(pk=THIS_SERVER, heard_at=closed_since)
        assert watermark() == closed_since

    def test_a_gap_is_recorded_as_an_outage(self) -> None:
        hear()
        WayIn.objects.update(heard_at=ago(minutes=3))
        hear()
        span = DeafSpan.objects.get()
        assert timedelta(minutes=2) < span.to_at - span.from_at < timedelta(minutes=4)


@pytest.mark.django_db(transaction=True)
def test_eight_sweeps_at_once_announce_each_loss_once(in_threads: Callable[..., list[None]]) -> None:
    for n in range(100):
        silent(f"s{n}")
    hear()
    in_threads(lambda _: sweep_once() and None, 8)
    lost = Event.objects.filter(type="sensor.connection_lost").values_list("subject", flat=True)
    assert sorted(lost) == sorted(f"sensor/s{n}" for n in range(100))


def cut(moment: datetime) -> datetime:
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
