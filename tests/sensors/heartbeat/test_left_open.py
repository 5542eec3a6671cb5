from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from config.common.times import format_time, from_milliseconds, to_milliseconds
from notifications.models import Alert, Delivery, Event
from notifications.sending.relevance import find_cancel_reasons
from sensors.heartbeat import clock as clocks
from sensors.heartbeat import ingest_liveness, left_open, sweep
from sensors.heartbeat.ingest_liveness import THIS_SERVER, LivenessCheck
from sensors.heartbeat.left_open import report_left_open_once
from sensors.ingest import apply
from sensors.ingest.apply import apply_signals
from sensors.ingest.signals import Signal
from sensors.models import DeafSpan, OpenDoor, SensorState, WayIn
from sensors.services import open_doors
from sensors.services.clients import update_client
from sensors.services.sensors import update_sensor
from tests.sensors.api.callers import service
from tests.sensors.heartbeat.world import World
from tests.sensors.registry import hear, link, make_client, make_sensor

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

LIMIT = 600


def ago(**span: float) -> datetime:
    return timezone.now() - timedelta(**span)


def send(data: int, at: datetime, sensor_id: str = "0xA", name: str = "") -> datetime:
    """Let a sensor send a signal; return its time, as the product has it."""
    sent = to_milliseconds(at)
    apply_signals([Signal(sensor_id, sent, name or f"{sensor_id}:{sent}", data, to_milliseconds(timezone.now()))])
    return from_milliseconds(sent)


def left_events() -> list[Event]:
    return list(Event.objects.filter(type="sensor.left_open").order_by("id"))


@pytest.fixture
def opened() -> datetime:
    """A door with a limit of ten minutes that was opened an hour ago."""
    make_sensor(open_limit=LIMIT)
    at = send(1, ago(hours=1))
    hear()
    return at


class TestReport:
    def test_a_door_past_its_limit_is_an_event_a_message_and_an_alert_dated_by_the_limit(
        self, opened: datetime
    ) -> None:
        link("0xA", make_client())
        report_left_open_once()
        due = opened + timedelta(seconds=LIMIT)
        words = {"sensor_id": "0xA", "address": "1 Gate Street", "data": 1, "limit_seconds": LIMIT}
        (event,) = left_events()
        assert (event.at, event.payload) == (due, words | {"opened_at": format_time(opened)})
        message = Delivery.objects.get(type="sensor.left_open")
        assert message.body == event.payload | {"version": 1, "type": event.type, "at": format_time(due)}
        alert = Alert.objects.get()
        assert (alert.kind, alert.subject, alert.status) == ("sensor.left_open", "sensor/0xA", "open")
        assert alert.words == "The door of sensor 0xA has been left open"

    def test_is_reported_once(self, opened: datetime) -> None:
        for _ in range(3):
            report_left_open_once()
        assert (len(left_events()), Alert.objects.get().count) == (1, 1)

    def test_belongs_to_the_trace_of_the_signal_that_opened_it(self, opened: datetime) -> None:
        report_left_open_once()
        chain = Event.objects.get(type="sensor.state_changed").correlation_id
        assert chain == left_events()[0].correlation_id == Alert.objects.get().correlation_id

    def test_it_keeps_waiting_until_the_limit(self) -> None:
        make_sensor(open_limit=LIMIT)
        send(1, ago(seconds=LIMIT - 60))
        hear()
        report_left_open_once()
        assert not left_events()

    def test_a_door_that_was_closed_in_time_is_no_news(self) -> None:
        make_sensor(open_limit=LIMIT)
        send(1, ago(seconds=LIMIT - 60))
        send(0, ago(seconds=LIMIT - 120))
        assert not OpenDoor.objects.exists()

    def test_whoever_dies_in_it_has_done_nothing(self, opened: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
        def die(*args: Any) -> None:
            raise ConnectionError

        with monkeypatch.context() as patch:
            patch.setattr(left_open, "raise_alert", die)
            with pytest.raises(ConnectionError):
                report_left_open_once()
        assert not left_events()
        report_left_open_once()
        assert len(left_events()) == 1

    @pytest.mark.django_db(transaction=True)
    def test_two_at_once_report_it_once(self, in_threads: Callable[..., Any]) -> None:
        make_sensor(open_limit=LIMIT)
        send(1, ago(hours=1))
        hear()
        in_threads(lambda _: report_left_open_once(), 4)
        assert (len(left_events()), Alert.objects.count()) == (1, 1)

    @pytest.mark.django_db(transaction=True)
    def test_a_door_that_closes_meanwhile_leaves_no_open_alert(self, in_threads: Callable[..., Any]) -> None:
        for n in range(4):
            make_sensor(f"s{n}", open_limit=LIMIT)
            send(1, ago(hours=1), f"s{n}")
        hear()
        in_threads(lambda n: send(0, timezone.now(), f"s{n - 1}") if n else report_left_open_once(), 5)
        assert not OpenDoor.objects.exists()
        assert not Alert.objects.exclude(status="resolved").exists()

    def test_is_listed_among_the_events_of_the_sensor(self, opened: datetime) -> None:
        report_left_open_once()
        listed = service("history:read")("GET", "/sensors/0xA/events/").json()["results"]
        assert (listed[0]["type"], listed[0]["limit_seconds"]) == ("sensor.left_open", LIMIT)

    def test_a_look_with_nothing_due_is_one_query(self, django_assert_num_queries: Any) -> None:
        make_sensor(open_limit=LIMIT)
        send(1, timezone.now())
        with django_assert_num_queries(1):
            report_left_open_once()


class TestClosing:
    def test_closes_the_alert_by_itself(self, opened: datetime) -> None:
        report_left_open_once()
        send(0, timezone.now())
        alert = Alert.objects.get()
        assert (alert.status, alert.resolved_by, alert.resolution) == ("resolved", "", "the door is closed")
        assert not OpenDoor.objects.exists()

    def test_takes_back_the_message_that_was_not_delivered(self, opened: datetime) -> None:
        link("0xA", make_client())
        report_left_open_once()
        message = Delivery.objects.get(type="sensor.left_open")
        pending = (message.pk, message.endpoint_id, message.subject)
        assert find_cancel_reasons([pending]) == {}
        send(0, timezone.now())
        assert find_cancel_reasons([pending]) == {message.pk: "the door is closed"}
        send(1, timezone.now())
        assert find_cancel_reasons([pending]) == {message.pk: "the door is closed"}, "opened again is another opening"

    def test_the_message_of_the_opening_stays_pending_beside_it(self, opened: datetime) -> None:
        link("0xA", make_client())
        send(0, timezone.now(), name="b")
        send(1, timezone.now(), name="c")
        OpenDoor.objects.update(due_at=ago(seconds=30), heard_at=ago(hours=1))
        report_left_open_once()
        pending = Delivery.objects.filter(status="pending").values_list("type", flat=True)
        assert sorted(pending) == ["sensor.left_open", "sensor.state_changed"]

    def test_of_many_changes_in_one_batch_the_last_counts(self) -> None:
        make_sensor(open_limit=LIMIT)
        now = to_milliseconds(ago(hours=1))
        apply_signals([Signal("0xA", now + n, f"{n}", (n + 1) % 2, now + n) for n in range(5)])
        assert OpenDoor.objects.get().opened_at == from_milliseconds(now + 4)
        apply_signals([Signal("0xA", now + n, f"{n}", (n + 1) % 2, now + n) for n in range(5, 8)])
        assert not OpenDoor.objects.exists()


class TestCost:
    @pytest.mark.parametrize(("limit", "first", "second"), [(None, 0, 1), (LIMIT, 1, 1)])
    def test_what_has_no_limit_or_changes_nothing_asks_nothing(
        self, limit: int | None, first: int, second: int
    ) -> None:
        make_sensor(open_limit=limit)
        send(first, ago(seconds=20))
        with CaptureQueriesContext(
            connection,
        ) as asked:
            send(second, ago(seconds=10))
        assert not [query for query in asked if "opendoor" in query["sql"]]


class TestWhatIsKnown:
    def test_a_lost_sensor_is_reported_once_it_is_heard_again(self, opened: datetime) -> None:
        SensorState.objects.update(lost_at=ago(minutes=30))
        report_left_open_once()
        assert not left_events()
        assert OpenDoor.objects.get().due_at is None
        send(1, timezone.now())
        assert OpenDoor.objects.get().due_at is not None
        OpenDoor.objects.update(due_at=ago(seconds=10))
        hear()
        report_left_open_once()
        assert len(left_events()) == 1

    def test_after_an_outage_of_ours_it_must_be_heard_again(self, opened: datetime) -> None:
        DeafSpan.objects.create(from_at=ago(minutes=30), to_at=ago(minutes=29))
        SensorState.objects.update(heard_at=ago(minutes=40))
        report_left_open_once()
        assert not left_events()
        SensorState.objects.update(heard_at=ago(minutes=1))
        OpenDoor.objects.update(due_at=ago(minutes=1))
        report_left_open_once()
        assert len(left_events()) == 1

    def test_nothing_is_said_while_we_cannot_hear(self, opened: datetime) -> None:
        WayIn.objects.update(heard_at=ago(hours=2))
        report_left_open_once()
        assert not left_events()


class TestMute:
    def test_a_muted_sensor_is_looked_at_when_the_mute_ends(self, opened: datetime) -> None:
        until = timezone.now() + timedelta(hours=1)
        update_sensor(sensor_id="0xA", muted_until=until, actor="anna")
        report_left_open_once()
        assert (left_events(), Alert.objects.count()) == ([], 0)
        assert OpenDoor.objects.get().due_at == until.replace(microsecond=until.microsecond // 1000 * 1000)
        update_sensor(sensor_id="0xA", muted_until=None, actor="anna")
        report_left_open_once()
        assert left_events()[0].at == opened + timedelta(seconds=LIMIT)

    def test_a_muted_client_is_not_told_and_the_operator_is(self, opened: datetime) -> None:
        client = make_client()
        link("0xA", client)
        update_client(client_id=client.pk, muted_until=timezone.now() + timedelta(hours=1), actor="anna")
        report_left_open_once()
        message = Delivery.objects.get(type="sensor.left_open")
        assert (message.status, message.reason) == ("cancelled", "the client is muted")
        assert Alert.objects.count() == 1


class TestRegistry:
    def test_a_limit_given_to_an_open_door_counts_from_its_opening(self) -> None:
        make_sensor()
        opened = send(1, ago(hours=1))
        hear()
        update_sensor(sensor_id="0xA", open_limit=LIMIT, actor="anna")
        report_left_open_once()
        assert left_events()[0].at == opened + timedelta(seconds=LIMIT)

    @pytest.mark.parametrize("edits", [{"open_limit": None}, {"active": False}])
    def test_a_door_that_is_watched_no_more_has_no_alert(self, opened: datetime, edits: Any) -> None:
        report_left_open_once()
        update_sensor(sensor_id="0xA", actor="anna", **edits)
        assert Alert.objects.get().status == "resolved"
        assert not OpenDoor.objects.exists()

    def test_a_longer_limit_closes_the_alert_until_it_is_reached(self, opened: datetime) -> None:
        report_left_open_once()
        update_sensor(sensor_id="0xA", open_limit=7200, actor="anna")
        report_left_open_once()
        assert Alert.objects.get().status == "resolved"
        assert OpenDoor.objects.get().limit_at == opened + timedelta(hours=2)

    def test_a_limit_that_is_passed_as_well_is_no_news(self, opened: datetime) -> None:
        report_left_open_once()
        update_sensor(sensor_id="0xA", open_limit=300, actor="anna")
        report_left_open_once()
        assert (len(left_events()), Alert.objects.get().status) == (1, "open")

    def test_a_closed_door_is_not_watched(self) -> None:
        make_sensor()
        send(0, ago(hours=1))
        update_sensor(sensor_id="0xA", open_limit=LIMIT, actor="anna")
        assert not OpenDoor.objects.exists()


class Node:
    """A process that serves calls and looks at doors, with sensors that call every second."""

    def __init__(self, world: World, patch: pytest.MonkeyPatch) -> None:
        self._world, self._patch = world, patch
        self.start()

    def start(self) -> None:
        self.clock = self._world.new_clock()
        for module in (clocks, ingest_liveness, sweep, apply, left_open, open_doors):
            self._patch.setattr(module, "clock", self.clock)
        self._check = LivenessCheck(THIS_SERVER)
        self._check._process = 0

    def live(self, seconds: int, data: int | None = 1) -> None:
        for _ in range(seconds):
            self._world.wait(1)
            self._check.run(lambda _: True)
            at = to_milliseconds(self.clock.time())
            if data is not None:
                apply_signals([Signal("0xA", at, f"{self._world.passed}", data, at)])
            report_left_open_once()


HOUR = timedelta(hours=1)


class TestTime:
    @pytest.mark.parametrize("step", [-HOUR, -timedelta(seconds=7), timedelta(seconds=7), HOUR])
    def test_a_step_of_the_clock_makes_it_neither_early_nor_late(
        self, step: timedelta, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        make_sensor(open_limit=60)
        world = World()
        node = Node(world, monkeypatch)
        node.live(2, 0)
        node.live(20)
        world.database += step
        # After the step the sensor's own clock may be behind what it sent before: it says nothing new.
        node.live(35, None)
        assert not left_events()
        SensorState.objects.update(heard_at=node.clock.now() + timedelta(seconds=90))
        node.live(100, None)
        assert len(left_events()) == 1
        assert left_events()[0].at <= world.database

    def test_a_door_opened_after_the_clock_was_set_back_has_its_whole_limit(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        make_sensor(open_limit=60)
        world = World()
        node = Node(world, monkeypatch)
        node.live(5, None)
        world.database -= HOUR
        node.live(5, None)
        node.live(30)
        assert not left_events()
        node.live(45)
        assert len(left_events()) == 1

    def test_a_restart_forgets_nothing_and_reports_nothing_twice(self, monkeypatch: pytest.MonkeyPatch) -> None:
        make_sensor(open_limit=60)
        world = World()
        node = Node(world, monkeypatch)
        node.live(2, 0)
        node.live(20)
        world.wait(20)
        node.start()
        node.live(30)
        assert not left_events(), "the time in which nothing ran does not count"
        node.live(75)
        node.start()
        node.live(75)
        assert len(left_events()) == 1
