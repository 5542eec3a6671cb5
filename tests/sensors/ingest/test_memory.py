from datetime import timedelta

import pytest
from django.utils import timezone

from config.common.times import to_milliseconds, truncate_to_milliseconds
from notifications.models import Event
from sensors.ingest.apply import apply_signals
from sensors.ingest.memory import PAGE, PAGES, Memory
from sensors.ingest.signals import Signal
from sensors.models import SensorState, SignalPage
from tests.sensors.registry import make_sensor


def signals(count: int, *, first: int = 0) -> list[Signal]:
    """Signals of one sensor, in order of time, received when they were sent."""
    begin = to_milliseconds(timezone.now()) - 600_000
    return [Signal("0xA", begin + n, str(n), 1, begin + n) for n in range(first, first + count)]


def again(sent: list[Signal]) -> list[Signal]:
    return [Signal(each.sensor_id, each.at, each.id, each.data, to_milliseconds(timezone.now())) for each in sent]


def lose() -> None:
    lost_at = truncate_to_milliseconds(timezone.now() - timedelta(minutes=1))
    SensorState.objects.update(lost_at=lost_at, check_at=None)


class TestMemory:
    def test_knows_what_was_added_and_nothing_else(self) -> None:
        memory = Memory()
        first, second = signals(2)
        memory.add(first)
        assert (memory.holds(first), memory.holds(second)) == (True, False)

    def test_another_time_or_another_id_is_another_signal(self) -> None:
        memory = Memory()
        memory.add(Signal("0xA", 1000, "1", 1, 1000))
        assert not memory.holds(Signal("0xA", 1001, "1", 1, 1000))
        assert not memory.holds(Signal("0xA", 1000, "2", 1, 1000))

    def test_what_was_known_before_the_page_was_turned_is_known_when_recalled(self) -> None:
        memory, sent = Memory(), signals(PAGE)
        for each in sent:
            memory.add(each)
        assert memory.is_page_full
        number, page = memory.turn_page()
        later = Memory(memory.recent, memory.page)
        assert (number, later.page, later.holds(sent[0])) == (0, 1, False)
        later.recall(page)
        assert all(map(later.holds, sent))


@pytest.mark.embedded
@pytest.mark.django_db
class TestRepeats:
    @pytest.mark.parametrize("count", [2, PAGE, 1000])
    def test_a_list_that_comes_again_after_a_loss_does_nothing(self, count: int) -> None:
        make_sensor()
        sent = signals(count)
        apply_signals(sent)
        lose()
        before = list(SensorState.objects.values()), Event.objects.count()
        assert len(apply_signals(again(sent)).accepted) == count
        assert (list(SensorState.objects.values()), Event.objects.count()) == before

    def test_in_any_order_and_by_other_batches(self) -> None:
        make_sensor()
        sent = signals(200)
        for start in range(0, 200, 7):
            apply_signals(sent[start : start + 7])
        lose()
        before = list(SensorState.objects.values()), Event.objects.count()
        for start in range(0, 200, 9):
            apply_signals(again(sent[::-1][start : start + 9]))
        assert (list(SensorState.objects.values()), Event.objects.count()) == before

    def test_twice_within_one_batch_is_once(self) -> None:
        make_sensor()
        sent = signals(3)
        apply_signals([sent[2], *sent[:2], *again(sent)])
        assert to_milliseconds(SensorState.objects.get().seen_at) == sent[2].received_at

    def test_a_late_one_that_never_came_before_is_seen_and_ends_the_loss(self) -> None:
        make_sensor()
        sent = signals(3 * PAGE)
        apply_signals(sent[:50] + sent[51:])
        lose()
        apply_signals(again(sent[50:51]))
        assert Event.objects.filter(type="sensor.loss_withdrawn").count() == 1
        assert SensorState.objects.get().lost_at is None

    def test_a_long_list_is_known_until_as_many_pages_have_passed(self) -> None:
        make_sensor()
        sent = signals(1000)
        apply_signals(sent)
        for page in range(PAGES - 1):
            apply_signals(signals(PAGE, first=1000 + page * PAGE))
        lose()
        apply_signals(again(sent))
        assert SensorState.objects.get().lost_at is not None

    def test_the_pages_of_a_sensor_do_not_grow(self) -> None:
        make_sensor()
        for batch in range(PAGES + 3):
            apply_signals(signals(PAGE, first=batch * PAGE))
        assert SignalPage.objects.count() == PAGES
        assert SensorState.objects.get().page == PAGES + 3
