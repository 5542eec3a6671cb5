import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

import pytest
from django.db import connection

from config.common.times import to_milliseconds
from notifications.models import Event
from sensors.api import signals
from sensors.heartbeat import clock as clocks
from sensors.heartbeat import ingest_liveness, sweep
from sensors.heartbeat.ingest_liveness import DROPPED_AFTER, THIS_SERVER, LivenessCheck, stop_serving_calls
from sensors.heartbeat.sweep import sweep_once
from sensors.ingest import apply
from sensors.ingest.apply import apply_signals
from sensors.ingest.signals import Signal
from sensors.models import DeafSpan, SensorState, WayIn
from tests.sensors.api.callers import service
from tests.sensors.heartbeat.world import NOON, World
from tests.sensors.registry import make_sensor

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

HOUR = timedelta(hours=1)
TIMEOUT = 5


@pytest.fixture
def world() -> World:
    return World()


class TestClock:
    def test_goes_on_between_two_looks(self, world: World) -> None:
        clock = world.new_clock()
        clock.look()
        world.wait(90)
        assert clock.now() == clock.time() == NOON + timedelta(seconds=90)

    def test_goes_on_when_the_database_is_set_back_and_every_process_agrees(self, world: World) -> None:
        first, second = world.new_clock(), world.new_clock()
        first.look(), second.look()
        world.wait(1)
        world.database -= HOUR
        assert second.look() is None, "until it is corrected its times prove nothing"
        assert first.look_and_correct() == second.look_and_correct() == NOON + timedelta(seconds=1)
        assert first.ahead == second.ahead == world.new_clock().look().ahead == HOUR
        assert first.time() == world.database
        assert first.time_in_milliseconds() == to_milliseconds(world.database)

    def test_goes_along_when_the_database_is_set_forward(self, world: World) -> None:
        clock = world.new_clock()
        clock.look()
        world.database += HOUR
        assert clock.look_and_correct() == NOON + HOUR
        assert clock.ahead == timedelta()

    def test_a_slow_answer_is_no_step(self, world: World) -> None:
        clock = world.new_clock()
        clock.look()

        def answer_late() -> tuple[datetime, int]:
            answered = world.database
            world.wait(30)
            return answered, 0

        clock._ask = answer_late
        assert clock.look() is not None
        assert clock.now() >= world.database - timedelta(milliseconds=10)


def test_last_seen_is_by_the_clock_of_the_database_whatever_the_node_says(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_sensor("0xA")
    clock = world.new_clock()
    clock.look()
    monkeypatch.setattr(signals, "clock", clock)
    monkeypatch.setattr(apply, "clock", clock)
    service("signals:write")("POST", "/signals/", {"sensor_id": "0xA", "data": 1})
    state = SensorState.objects.get()
    assert (state.seen_at, state.heard_at, state.check_at) == (NOON, NOON, NOON + HOUR)


class Node:
    """A process that serves calls and sweeps, with a sensor that calls every second."""

    def __init__(self, world: World, patch: pytest.MonkeyPatch) -> None:
        self._world, self._patch = world, patch
        self.start()

    def start(self) -> None:
        self.clock = self._world.new_clock()
        for module in (clocks, ingest_liveness, sweep, apply):
            self._patch.setattr(module, "clock", self.clock)
        self._check = LivenessCheck(THIS_SERVER)
        self._check._process = 0

    def live(self, seconds: int, *speaking: str, beside: Sequence[LivenessCheck] = (), stopped: bool = False) -> None:
        for _ in range(seconds):
            self._world.wait(1)
            for check in (*beside, self._check)[: len(beside) if stopped else None]:
                check.run(lambda _: True)
            at = to_milliseconds(self.clock.time())
            apply_signals([Signal(each, at, f"{each}{self._world.passed}", 1, at) for each in speaking])
            sweep_once()


@pytest.fixture
def node(world: World, monkeypatch: pytest.MonkeyPatch) -> Node:
    for sensor_id in ("talks", "quiet"):
        make_sensor(sensor_id, heartbeat_timeout=TIMEOUT)
    made = Node(world, monkeypatch)
    made.live(10, "talks", "quiet")
    assert not Event.objects.filter(type__startswith="sensor.conn").exists()
    return made


def told() -> list[tuple[str, str]]:
    connection = Event.objects.filter(type__startswith="sensor.conn").order_by("id")
    return list(connection.values_list("type", "subject"))


LOST = [("sensor.connection_lost", "sensor/quiet")]


@pytest.mark.parametrize("step", [-HOUR, -timedelta(seconds=7), timedelta(seconds=7), HOUR])
class TestSteps:
    def test_nobody_is_lost_by_a_step_of_the_clock(self, world: World, node: Node, step: timedelta) -> None:
        world.database += step
        node.live(30, "talks", "quiet")
        assert told() == []

    def test_true_silence_is_noticed_in_time_and_dated_by_the_clock_as_it_is(
        self, world: World, node: Node, step: timedelta
    ) -> None:
        world.database += step
        node.live(2 * TIMEOUT + 10, "talks")
        assert told() == LOST
        lost_at = SensorState.objects.get(pk="quiet").lost_at
        assert world.database - timedelta(seconds=2 * TIMEOUT + 10) <= lost_at <= world.database

    def test_after_it_silence_is_noticed_as_before(self, world: World, node: Node, step: timedelta) -> None:
        world.database += step
        node.live(20, "talks", "quiet")
        node.live(TIMEOUT + 5, "talks")
        assert told() == LOST
        seen_at = SensorState.objects.get(pk="talks").seen_at
        assert world.database - seen_at < timedelta(seconds=5)

    def test_it_may_happen_while_nothing_runs(self, world: World, node: Node, step: timedelta) -> None:
        world.wait(20)
        world.database += step
        node.start()
        node.live(TIMEOUT - 1)
        assert told() == []
        node.live(10, "talks")
        assert told() == LOST


class TestTwoServers:
    """`quiet` calls the one that stops, `talks` the other one."""

    @pytest.fixture
    def other(self, node: Node) -> LivenessCheck:
        other = LivenessCheck("calls/other:8000")
        node.live(2 * TIMEOUT, "talks", "quiet", beside=[other])
        DeafSpan.objects.all().delete()
        return other

    def test_who_calls_the_one_that_stands_still_is_not_lost(self, node: Node, other: LivenessCheck) -> None:
        node.live(8, "talks", beside=[other], stopped=True)
        assert told() == []
        node.live(2 * TIMEOUT, "talks", "quiet", beside=[other])
        assert told() == []
        span = DeafSpan.objects.get()
        assert span.to_at - span.from_at == timedelta(seconds=9)
        node.live(TIMEOUT + 7, "talks", beside=[other])
        assert told() == LOST, "true silence is noticed as before"

    def test_one_that_is_silent_for_good_is_dropped_and_its_outage_is_written_once(
        self, node: Node, other: LivenessCheck
    ) -> None:
        third = LivenessCheck("calls/third:8000")
        node.live(1, "talks", "quiet", beside=[other, third])
        DeafSpan.objects.all().delete()
        dropped = int(DROPPED_AFTER.total_seconds()) + 1
        node.live(dropped - 1, "talks", beside=[other, third], stopped=True)
        assert (told(), DeafSpan.objects.count()) == ([], 0)
        node.live(TIMEOUT + 2, "talks", beside=[other, third], stopped=True)
        assert set(WayIn.objects.values_list("pk", flat=True)) == {"calls/other:8000", "calls/third:8000"}
        span = DeafSpan.objects.get()
        assert span.to_at - span.from_at == timedelta(seconds=dropped)
        assert told() == []
        node.live(7, "talks", beside=[other, third], stopped=True)
        assert told() == LOST, "it has had its whole time once more"

    def test_one_that_comes_back_after_it_was_dropped_was_away_since_it_was_heard_last(
        self, node: Node, other: LivenessCheck
    ) -> None:
        node.live(18, "talks", beside=[other], stopped=True)
        node.live(2 * TIMEOUT, "talks", "quiet", beside=[other])
        assert told() == []
        assert max(span.to_at - span.from_at for span in DeafSpan.objects.all()) == timedelta(seconds=19)

    def test_the_queue_alone_drops_nobody(self, world: World, node: Node) -> None:
        world.wait(60)
        LivenessCheck(WayIn.QUEUE).run(lambda _: True)
        assert WayIn.objects.filter(pk=THIS_SERVER).exists()

    def test_one_that_ends_in_order_holds_up_nobody(self, node: Node, other: LivenessCheck) -> None:
        stop_serving_calls()
        assert not WayIn.objects.filter(pk=THIS_SERVER).exists()
        node.live(2 * TIMEOUT, "talks", beside=[other], stopped=True)
        assert told() == LOST
        assert WayIn.objects.count() == 1

    def test_the_last_one_leaves_the_time_at_which_it_was_heard(
        self, world: World, node: Node, other: LivenessCheck
    ) -> None:
        WayIn.objects.filter(pk="calls/other:8000").update(heard_at=NOON - HOUR)
        stop_serving_calls()
        world.wait(8)
        node.start()
        node.live(TIMEOUT - 1)
        assert told() == []

    def test_one_that_starts_after_one_of_another_name_has_not_heard_what_came_between(
        self, world: World, node: Node
    ) -> None:
        world.wait(4)
        node.start()
        node._check = LivenessCheck("calls/new:8000")
        node.live(TIMEOUT - 1)
        assert told() == []
        assert DeafSpan.objects.exists()
        node.live(20, "talks")
        assert told() == LOST
        assert WayIn.objects.count() == 1


class TestRestart:
    @pytest.mark.parametrize("away", range(21))
    def test_after_any_outage_each_sensor_has_its_whole_time(self, world: World, node: Node, away: int) -> None:
        world.wait(away)
        node.start()
        node.live(TIMEOUT - 1)
        assert told() == []
        node.live(TIMEOUT + 5, "talks")
        assert told() == LOST

    def test_outages_are_written_down(self, world: World, node: Node) -> None:
        DeafSpan.objects.all().delete()
        world.wait(2.5)
        node.live(1)
        assert DeafSpan.objects.count() == 1, "longer than two intervals"
        node.live(2)
        node.start()
        node.live(1)
        assert DeafSpan.objects.count() == 2, "a start, however quick"

    def test_what_is_not_served_is_not_heard(self, world: World, node: Node) -> None:
        heard_at = WayIn.objects.get().heard_at
        world.wait(1)
        assert not LivenessCheck(THIS_SERVER).run(lambda _: False)
        assert WayIn.objects.get().heard_at == heard_at


@pytest.mark.django_db(transaction=True)
def test_of_two_servers_that_end_at_once_one_leaves_its_row(
    in_threads: Callable[..., list[None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has one server")
    both = threading.Barrier(2, timeout=1)

    def linger(begin: datetime, end: datetime) -> None:
        """Let the other one come as far, if it can: it has seen the rows, and its own is not deleted yet."""
        with suppress(threading.BrokenBarrierError):
            both.wait()

    monkeypatch.setattr(ingest_liveness, "_write_outage", linger)
    names = ["calls/a:1", "calls/b:1"]
    now = clocks.clock.look_and_correct()
    WayIn.objects.bulk_create([WayIn(pk=name, heard_at=now) for name in names])
    in_threads(lambda number: stop_serving_calls(names[number]), 2)
    assert WayIn.objects.count() == 1
