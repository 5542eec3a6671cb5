from typing import Any

import pytest
from django.utils import timezone

from processes.coordination.coordinator.activation import (
    activate_events,
    advance_known_position,
    choose_events,
)
from processes.coordination.models import CoordinatorState, WriterEvent, WriterEventReader
from processes.coordination.protocol.statuses import EventStatus as E
from tests.processes.coordination.in_memory_roles import (
    DATABASES,
    InMemoryRoles,
    make_change_set,
    request_change,
)

EACH_STATUS_UNDER_WAY = [
    E.ACTIVATED,
    E.PREPARING,
    E.PREPARED,
    E.PROCESSING,
    E.PROCESSED,
    E.COMMITTING,
    E.CANCELING,
]


def event(pk: int, status: E = E.SAVED, *touched: str, is_published: bool = True) -> WriterEvent:
    return WriterEvent(
        pk=pk,
        position=pk,
        app_event_status_id=status.value,
        is_published=is_published,
        touched=list(touched),
        date=timezone.now(),
        app_event_type_id=1,
    )


def begin(line: list[WriterEvent], *, parallel: int) -> list[int]:
    """Choose where nobody waits."""
    chosen, behind = choose_events(line, parallel=parallel, reserved={})
    assert behind == []
    return chosen


class TestChoose:
    def test_begins_in_the_order_of_the_positions(self) -> None:
        assert begin([event(1), event(2), event(3)], parallel=2) == [1, 2]

    def test_one_at_a_time(self) -> None:
        assert begin([event(1), event(2)], parallel=1) == [1]

    @pytest.mark.parametrize("status", EACH_STATUS_UNDER_WAY)
    def test_what_is_under_way_takes_a_place(self, status: E) -> None:
        assert begin([event(1, status), event(2)], parallel=1) == []
        assert begin([event(1, status), event(2), event(3)], parallel=2) == [2]

    def test_a_shared_row_keeps_the_order(self) -> None:
        under_way = [event(1, E.PREPARED, "a"), event(2, E.SAVED, "a", "b"), event(3, E.SAVED, "c")]
        assert begin(under_way, parallel=8) == [3]

    def test_what_waits_for_another_holds_its_rows_too(self) -> None:
        under_way = [event(1, E.PREPARED, "a"), event(2, E.SAVED, "a", "b"), event(3, E.SAVED, "b")]
        assert begin(under_way, parallel=8) == []

    def test_two_that_begin_together_share_no_row(self) -> None:
        assert begin([event(1, E.SAVED, "a"), event(2, E.SAVED, "a"), event(3, E.SAVED, "b")], parallel=8) == [1, 3]

    def test_nothing_overtakes_what_is_not_saved(self) -> None:
        """Nobody knows its rows yet."""
        assert begin([event(1), event(2, E.CREATED), event(3)], parallel=8) == [1]

    def test_what_the_writer_was_not_told_to_be_saved_does_not_begin_and_keeps_its_rows(self) -> None:
        under_way = [event(1, E.SAVED, "a", is_published=False), event(2, E.SAVED, "a"), event(3, E.SAVED, "b")]
        assert begin(under_way, parallel=8) == [3]

    def test_what_touches_a_row_of_one_that_waits_is_put_behind_it(self) -> None:
        line = [event(2, E.SAVED, "a"), event(3, E.SAVED, "b")]
        assert choose_events(line, parallel=1, reserved={"a": 1}) == ([3], [2])

    def test_so_is_what_touches_a_row_of_one_behind(self) -> None:
        line = [
            event(2, E.SAVED, "a", "b"),
            event(3, E.SAVED, "b", "c"),
            event(4, E.SAVED, "c"),
            event(5, E.SAVED, "d"),
        ]
        assert choose_events(line, parallel=1, reserved={"a": 1}) == ([5], [2, 3, 4])

    def test_what_comes_before_one_that_waits_is_not_behind_it(self) -> None:
        assert choose_events([event(2, E.SAVED, "a")], parallel=1, reserved={"a": 3}) == ([2], [])

    def test_nothing_of_nothing(self) -> None:
        assert begin([], parallel=8) == []


@pytest.mark.django_db
@pytest.mark.embedded
class TestActivate:
    def _state(self, *events: WriterEvent) -> CoordinatorState:
        WriterEvent.objects.bulk_create(events)
        state = CoordinatorState.objects.get()
        state.clock = 7.5
        advance_known_position(state)
        return state

    def test_takes_step_14_and_gives_each_reader_a_row(self) -> None:
        assert activate_events(self._state(event(1), event(2)), at=timezone.now()) == (True, False)
        first, second = WriterEvent.objects.order_by("pk")
        assert (first.status, first.is_published, first.clock) == (E.ACTIVATED, False, 7.5)
        assert "14" in first.steps
        assert second.status == E.SAVED
        reader = WriterEventReader.objects.get()
        assert (reader.writer_event_id, reader.name, reader.verdict) == (1, "main", "waiting")

    def test_nothing_begins_behind_a_position_that_is_not_known(self) -> None:
        state = self._state(event(2), event(3))
        assert activate_events(state, at=timezone.now()) == (False, False)
        WriterEvent.objects.bulk_create([event(1)])
        advance_known_position(state)
        assert activate_events(state, at=timezone.now()) == (True, False)
        assert WriterEvent.objects.get(app_event_status_id=E.ACTIVATED).pk == 1

    def test_twice_activates_once(self) -> None:
        state = self._state(event(1))
        activate_events(state, at=timezone.now())
        assert activate_events(state, at=timezone.now()) == (False, False)
        assert WriterEventReader.objects.count() == 1


@pytest.mark.django_db
@pytest.mark.embedded
class TestLearnPositions:
    def test_moves_up_to_the_first_gap_and_keeps_that(self) -> None:
        WriterEvent.objects.bulk_create([event(1), event(2), event(4)])
        state = CoordinatorState.objects.get()
        advance_known_position(state)
        assert CoordinatorState.objects.get().known_position == 2
        WriterEvent.objects.bulk_create([event(3)])
        advance_known_position(state)
        assert CoordinatorState.objects.get().known_position == 4


@pytest.mark.django_db(databases=DATABASES)
@pytest.mark.embedded
class TestMoves:
    def test_of_different_rows_begin_one_after_the_other(self, settings: Any) -> None:
        """Else a reader could show a circle that the Writer never had."""
        settings.COORDINATION_PARALLEL = 8
        roles = InMemoryRoles()
        a, b, c, d = make_change_set(*(request_change("DummyNode", "insert", name=name) for name in "abcd")).ids
        roles.settle()
        make_change_set(request_change("DummyNode", "update", a, parent=b))
        make_change_set(request_change("DummyNode", "update", c, parent=d))
        make_change_set(request_change("DummyNode", "insert", name="e"))
        roles.rest_without_reader()
        begun = WriterEvent.objects.order_by("pk").values_list("app_event_status_id", flat=True)
        assert list(begun)[1:] == [E.ACTIVATED, E.SAVED, E.ACTIVATED]
