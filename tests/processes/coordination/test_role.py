import pytest
from django.utils import timezone

from processes.coordination.bus.memory import MemoryBus, _Taken
from processes.coordination.reader.models import AppEvent
from processes.coordination.statuses import EventStatus
from tests.processes.coordination.cast import DATABASES, Cast, item

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


def cast_over_waiting_bus() -> tuple[Cast, WaitingBus]:
    bus = WaitingBus()
    return Cast(bus=bus), bus


class TestRunOnce:
    def test_waits_for_a_message_when_there_is_nothing_to_do(self) -> None:
        cast, bus = cast_over_waiting_bus()
        for _ in range(3):
            assert not cast.reader.run_once(0.2)
        assert bus.waited == [0.2, 0.2, 0.2]

    def test_nobody_waits_behind_a_turn_that_told_something(self) -> None:
        """What was told in step 26 is processed in step 28, without a message."""
        cast, bus = cast_over_waiting_bus()
        item("a")
        events = AppEvent.objects.using("reader_main")
        cast.settle(lambda: events.filter(app_event_status_id=EventStatus.PROCESSING, is_published=True).exists())
        bus.waited.clear()
        cast.reader.run_once(0.2)
        assert bus.waited == [0.0]
        assert events.get().status == EventStatus.PROCESSED


class TestTell:
    def test_says_whether_anything_was_told(self) -> None:
        cast = Cast()
        item("a")
        cast.writer.act(timezone.now())
        assert cast.writer.tell(timezone.now())
        assert not cast.writer.tell(timezone.now())
