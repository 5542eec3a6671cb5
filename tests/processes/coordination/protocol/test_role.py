from datetime import timedelta

import pytest
from django.utils import timezone

from processes.coordination.bus.memory import MemoryBus, _Taken
from processes.coordination.protocol.messages import MessageType
from processes.coordination.protocol.role import BATCH, has_follow_up
from processes.coordination.protocol.statuses import EventStatus
from processes.coordination.protocol.transitions import RoleKind
from processes.coordination.reader.models import AppEvent
from tests.processes.coordination.in_memory_roles import DATABASES, InMemoryRoles, item

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
