from datetime import timedelta

import pytest
from django.utils import timezone
from prometheus_client import REGISTRY

from notifications.models import Alert
from processes.coordination.bus.memory import MemoryBus, _Taken
from processes.coordination.maintenance.watch import DROPPED_QUIET, close_dropped_alerts
from processes.coordination.protocol.messages import WRITER, Message, MessageType, OutgoingMessage
from processes.coordination.protocol.role import BATCH, DROPPED, Pace, has_follow_up
from processes.coordination.protocol.statuses import EventStatus
from processes.coordination.protocol.transitions import RoleKind
from processes.coordination.reader.models import AppEvent
from tests.processes.coordination.in_memory_roles import DATABASES, InMemoryRoles, item, make_change_set, request_change

pytestmark = [pytest.mark.django_db(databases=DATABASES), pytest.mark.embedded]


class WaitingBus(MemoryBus):
    """Keeps how long each role was ready to wait for a message when there was none."""

    def __init__(self) -> None:
        super().__init__()
        self.waited: list[float] = []

    def receive(self, queue: str, *, most: int, wait: float) -> _Taken:
        taken = super().receive(queue, most=most, wait=wait)
        if not taken.messages:
            self.waited.append(wait)
        return taken


def cast_over_waiting_bus() -> tuple[InMemoryRoles, WaitingBus]:
    bus = WaitingBus()
    return InMemoryRoles(bus=bus), bus


class TestRunOnce:
    def test_waits_for_a_message_when_there_is_nothing_to_do(self) -> None:
        roles, bus = cast_over_waiting_bus()
        for _ in range(3):
            assert not roles.reader.run_once(0.2)
        assert bus.waited == [0.2, 0.2, 0.2]

    @pytest.mark.parametrize(
        ("told", "waited", "then"),
        [
            (EventStatus.CREATED, 0.2, EventStatus.CREATED),  # 17: what comes next, a message brings
            (EventStatus.PROCESSING, 0.0, EventStatus.PROCESSED),  # 26: 28 follows without one
        ],
    )
    def test_nobody_waits_behind_a_turn_that_leads_on(
        self, told: EventStatus, waited: float, then: EventStatus
    ) -> None:
        roles, bus = cast_over_waiting_bus()
        item("a")
        events = AppEvent.objects.using("reader_main")
        roles.settle(lambda: events.filter(app_event_status_id=told, is_published=True).exists())
        bus.waited.clear()
        roles.reader.run_once(0.2)
        assert bus.waited == [waited]
        assert events.get().status == then


class NotingBus(MemoryBus):
    """Keeps the order in which messages are answered and done with; may refuse to send."""

    def __init__(self) -> None:
        super().__init__()
        self.noted: list[str] = []
        self.refuses = False

    def send(self, messages: list[OutgoingMessage]) -> None:
        if self.refuses:
            raise ConnectionError
        super().send(messages)

    def receive(self, queue: str, *, most: int, wait: float) -> _Taken:
        taken = super().receive(queue, most=most, wait=wait)
        return NotingTaken(taken.bus, taken.queue, taken.messages)


class NotingTaken(_Taken):
    def done(self) -> None:
        assert isinstance(self.bus, NotingBus)
        self.bus.noted.append("done")

    def give_back(self) -> None:
        assert isinstance(self.bus, NotingBus)
        self.bus.noted.append("given back")
        super().give_back()


class TestReceive:
    def test_what_could_not_be_answered_comes_again(self) -> None:
        bus = NotingBus()
        roles = InMemoryRoles(bus=bus)
        item("a")
        roles.settle(lambda: any(each.type == MessageType.PAYLOADS_WANTED for each in bus._queues[WRITER]))
        bus.noted.clear()
        bus.refuses = True
        with pytest.raises(ConnectionError):
            roles.writer.receive()
        assert bus.noted == ["given back"]
        bus.refuses = False
        roles.settle()


class TestDoesLeadOn:
    @pytest.mark.parametrize(
        ("role", "status", "continues"),
        [
            (RoleKind.WRITER, EventStatus.CREATED, False),
            (RoleKind.COORDINATOR, EventStatus.CREATED, False),
            (RoleKind.COORDINATOR, EventStatus.SAVED, True),  # 14
            (RoleKind.COORDINATOR, EventStatus.COMMITTING, False),
            (RoleKind.READER, EventStatus.CREATED, False),
            (RoleKind.READER, EventStatus.PROCESSING, True),  # 28
            (RoleKind.READER, EventStatus.PROCESSED, False),
        ],
    )
    def test_only_by_what_the_role_acts_upon_itself(self, role: RoleKind, status: EventStatus, continues: bool) -> None:
        assert has_follow_up(role, [AppEvent(app_event_status_id=status.value)]) is continues

    def test_there_may_be_more_behind_a_full_turn(self) -> None:
        told = AppEvent(app_event_status_id=EventStatus.CREATED.value)
        assert not has_follow_up(RoleKind.READER, [told] * (BATCH - 1))
        assert has_follow_up(RoleKind.READER, [told] * BATCH)
        assert has_follow_up(RoleKind.READER, [], [told] * BATCH)


class TestMayAct:
    @pytest.mark.parametrize(
        "heard", [MessageType.PREPARING_BEGINS, MessageType.PAYLOADS_PREPARED, MessageType.PROCESSING_BEGINS]
    )
    def test_what_only_moves_an_event_on_makes_nothing_due(self, heard: MessageType) -> None:
        coordinator, at = InMemoryRoles().coordinator, timezone.now()
        coordinator.act(at)
        assert not coordinator.is_due({heard}, at)

    @pytest.mark.parametrize(
        "heard", [MessageType.PAYLOADS, MessageType.PROCESSED, MessageType.COMMITTED, MessageType.CANCELED]
    )
    def test_what_makes_something_due_does(self, heard: MessageType) -> None:
        coordinator, at = InMemoryRoles().coordinator, timezone.now()
        coordinator.act(at)
        assert coordinator.is_due({heard, MessageType.PREPARING_BEGINS}, at)

    @pytest.mark.parametrize("passed", [timedelta(seconds=0.3), timedelta(hours=-1)])
    def test_what_is_due_by_the_time_waits_for_no_message(self, passed: timedelta) -> None:
        coordinator, at = InMemoryRoles().coordinator, timezone.now()
        coordinator.act(at)
        assert coordinator.is_due({MessageType.PREPARING_BEGINS}, at + passed)

    def test_without_a_message_it_looks(self) -> None:
        coordinator, at = InMemoryRoles().coordinator, timezone.now()
        coordinator.act(at)
        assert coordinator.is_due(set(), at)


class TestTell:
    def test_says_whether_anything_was_told(self) -> None:
        roles = InMemoryRoles()
        item("a")
        roles.writer.act(timezone.now())
        assert roles.writer.publish(timezone.now())
        assert not roles.writer.publish(timezone.now())


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class TestPace:
    def test_allows_a_burst_and_then_so_many_in_a_second(self) -> None:
        clock = Clock()
        pace = Pace(20, burst=100, most=500, clock=clock)
        assert pace.allowed() == 100
        pace.spend(100)
        assert pace.allowed() == 0
        clock.now = 2.0
        assert pace.allowed() == 40
        clock.now = 60.0
        assert pace.allowed() == 100

    def test_allows_twice_as_many_as_have_helped_up_to_the_most(self) -> None:
        pace = Pace(20, burst=100, most=500, clock=Clock())
        pace.spend(100)
        pace.speed_up(90)
        assert pace.allowed() == 180
        pace.spend(180)
        assert pace.allowed() == 0
        pace.speed_up(400)
        assert pace.allowed() == 500


class TestRejectMessage:
    """A message that always makes its role fail is repeated by its sender for ever: staff must hear of it."""

    @pytest.mark.parametrize(
        ("role", "handler"), [("coordinator", "record_new_events"), ("writer", "Writer._commit_events")]
    )
    def test_is_an_alert_until_its_event_has_ended(
        self, role: str, handler: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*args: object) -> None:
            raise ZeroDivisionError("division by zero")

        roles = InMemoryRoles()
        before = REGISTRY.get_sample_value("postern_coordination_dropped_total", {"role": role}) or 0.0
        event = make_change_set(request_change("DummyItem", "insert", name="a")).event
        with monkeypatch.context() as patched:
            patched.setattr(f"processes.coordination.{role}.role.{handler}", fail)
            roles.rest()
        alert = Alert.objects.get(kind=DROPPED)
        assert (alert.subject, alert.status) == (f"coordination/{event}", "open")
        assert f"role {role} cannot process" in alert.words
        assert "division by zero" in alert.words
        assert REGISTRY.get_sample_value("postern_coordination_dropped_total", {"role": role}) == before + 1
        later = timezone.now() + 2 * DROPPED_QUIET
        close_dropped_alerts(at=later)
        assert Alert.objects.get(kind=DROPPED).status == "open", "the change set has not ended"
        roles.settle_by_repeats()
        close_dropped_alerts(at=timezone.now())
        assert Alert.objects.get(kind=DROPPED).status == "open", "it may come once more"
        close_dropped_alerts(at=later)
        assert Alert.objects.get(kind=DROPPED).status == "resolved"

    def test_heartbeat_is_about_no_event(self, monkeypatch: pytest.MonkeyPatch) -> None:
        roles = InMemoryRoles()
        roles.coordinator.reject_message(Message(MessageType.ALIVE, role="writer"), ZeroDivisionError("x"))
        assert Alert.objects.get(kind=DROPPED).subject == "coordinator"
        close_dropped_alerts(at=timezone.now() + 2 * DROPPED_QUIET)
        assert Alert.objects.get(kind=DROPPED).status == "resolved"
