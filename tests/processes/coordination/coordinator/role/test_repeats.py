"""Messages that are lost: what stays in one status for ten seconds is told again, and every walk comes to its end."""

import random

import pytest
from django.utils import timezone

from processes.coordination.bus.memory import MemoryBus
from processes.coordination.models import AppEvent, WriterEvent
from processes.coordination.protocol.messages import COORDINATOR, WRITER, MessageType, OutgoingMessage
from processes.coordination.protocol.steps import REPEAT_AFTER
from processes.coordination.reader.models import TABLES
from processes.coordination.writer.change_sets import AppliedChangeSet
from tests.processes.coordination.event_tables import items_of_reader, items_of_writer, look
from tests.processes.coordination.in_memory_roles import (
    DATABASES,
    InMemoryRoles,
    let_time_pass,
    make_change_set,
    queued,
    request_change,
)

pytestmark = pytest.mark.django_db(databases=DATABASES)
COMMITTED = ("Committed, 12 Saved", "Committed+, 12 Processed", "Committed+, 12 Processed+")
TO_CANCEL = (MessageType.CANCEL, MessageType.CANCELED, MessageType.EVENT_CANCELED)
FORWARD = [queued for queued in MessageType if queued not in (*TO_CANCEL, MessageType.UNKNOWN, MessageType.ALIVE)]


class LossyBus(MemoryBus):
    """Loses the letters of one kind when they are first sent."""

    def __init__(self, loses: MessageType) -> None:
        super().__init__()
        self._loses: MessageType | None = loses
        self.lost = 0

    def send(self, letters: list[OutgoingMessage]) -> None:
        kept = [letter for letter in letters if letter[1].type != self._loses]
        if len(kept) < len(letters):
            self.lost, self._loses = len(letters) - len(kept), None
        super().send(kept)


class LeakyBus(MemoryBus):
    """Loses three in ten of the first letters, any of them."""

    def __init__(self, seed: int, *, most: int = 40) -> None:
        super().__init__()
        self._random = random.Random(seed)
        self.lost, self._most = 0, most

    def send(self, letters: list[OutgoingMessage]) -> None:
        for letter in letters:
            if self.lost < self._most and self._random.random() < 0.3:
                self.lost += 1
            else:
                super().send([letter])


def end(roles: InMemoryRoles) -> None:
    """Let time pass until the change sets have ended everywhere."""
    for _ in range(60):
        roles.rest()
        if not AppEvent.objects.filter(ended_at=None).exists():
            return
        let_time_pass()
    raise AssertionError("it never ended")


def make_set() -> AppliedChangeSet:
    return make_change_set(*(request_change("DummyItem", "insert", name=f"n{n}") for n in range(12)))


class TestLostOnce:
    @pytest.mark.parametrize("loses", FORWARD)
    def test_a_message_on_the_way_to_the_commit(self, loses: MessageType) -> None:
        bus = LossyBus(loses)
        roles = InMemoryRoles(bus=bus)
        made = make_set()
        end(roles)
        assert bus.lost
        found = look(roles, made.event)
        assert (found.writer, found.coordinator, found.reader) == COMMITTED
        assert items_of_reader() == items_of_writer()

    @pytest.mark.parametrize("loses", TO_CANCEL)
    def test_a_message_of_the_cancellation(self, loses: MessageType) -> None:
        bus = LossyBus(loses)
        roles = InMemoryRoles(bus=bus)
        made = make_set()
        TABLES["DummyItem"].objects.using("reader_main").create(
            id=made.ids[0], name="foreign", correlation_id="00000000-0000-0000-0000-000000000000"
        )
        end(roles)
        let_time_pass()
        roles.rest()
        assert bus.lost
        found = look(roles, made.event)
        assert (found.writer, found.coordinator) == ("Canceled, 12 Saved", "Canceled+, 12 Processed")
        assert (found.reader, found.rows) == ("Canceled+, 12 Processed+", "0 0 1")
        assert items_of_writer() == {}


@pytest.mark.embedded
class TestLostAtRandom:
    @pytest.mark.slow
    @pytest.mark.parametrize("seed", range(2))
    def test_whatever_is_lost_all_ends_equal(self, seed: int) -> None:
        bus = LeakyBus(seed)
        roles = InMemoryRoles(bus=bus)
        made = make_set()
        other = make_change_set(
            request_change("DummyItem", "update", made.ids[0], name="x"),
            request_change("DummyItem", "delete", made.ids[1]),
        )
        end(roles)
        assert bus.lost > 5
        assert look(roles, made.event).writer == COMMITTED[0]
        assert look(roles, other.event).coordinator == "Committed+, 2 Processed"
        assert items_of_reader() == items_of_writer()


@pytest.mark.embedded
class TestAgain:
    def test_nothing_is_told_again_before_its_time(self) -> None:
        roles = InMemoryRoles()
        make_set()
        roles.rest_without_reader()
        roles.bus._queues.clear()
        soon = timezone.now() + REPEAT_AFTER / 2
        for role in (roles.writer, roles.coordinator):
            role.publish(soon)
        assert not any(roles.bus._queues.values())

    def test_is_told_once_in_ten_seconds(self) -> None:
        roles = InMemoryRoles()
        make_set()
        roles.rest_without_reader()
        roles.bus._queues.clear()
        let_time_pass()
        now = timezone.now()
        for at in (now, now + REPEAT_AFTER / 2):
            roles.writer.publish(at)
            roles.coordinator.publish(at)
        counted = {queue: len(messages) for queue, messages in roles.bus._queues.items()}
        assert counted == {"coordination.coordinator": 1, "coordination.reader.main": 1}

    def test_those_in_line_cost_one_question_and_no_answer(self) -> None:
        """A line of thousands is asked about every ten seconds while one is under way."""
        roles = InMemoryRoles()
        for _ in range(3):
            make_set()
        roles.rest_without_reader()
        roles.bus._queues.clear()
        let_time_pass()
        roles.writer.publish(timezone.now())
        assert len(queued(roles.bus, COORDINATOR)) == 3
        roles.coordinator.receive()
        roles.coordinator.publish(timezone.now() - REPEAT_AFTER)
        assert queued(roles.bus, WRITER) == []

    def test_what_has_ended_is_never_told_again(self) -> None:
        roles = InMemoryRoles()
        make_set()
        roles.settle()
        roles.rest()
        assert not AppEvent.objects.filter(again_at__isnull=False).exists()
        assert not WriterEvent.objects.filter(again_at__isnull=False).exists()
