from typing import Any

import pytest
from django.db import connections
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from processes.coordination.coordinator import activation, decisions, role
from processes.coordination.coordinator.activation import (
    activate_events,
    advance_known_position,
    choose_events,
)
from processes.coordination.models import AppEvent, CoordinatorState, HeldRow, WriterEvent, WriterEventReader
from processes.coordination.protocol.messages import MessageType
from processes.coordination.protocol.statuses import EventStatus as E
from processes.coordination.reader.models import TABLES
from sensors.services.sensors import create_sensor, update_sensor
from tests.processes.coordination.in_memory_roles import (
    DATABASES,
    InMemoryRoles,
    let_time_pass,
    make_change_set,
    queued,
    request_change,
    status_of,
)

READER = "reader_main"
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


@pytest.fixture
def roles(monkeypatch: pytest.MonkeyPatch) -> InMemoryRoles:
    """All roles, with looks that go over three events at once."""
    monkeypatch.setattr(activation, "WINDOW", 3)
    monkeypatch.setattr(decisions, "MOST", 3)
    roles = InMemoryRoles()
    roles.live()
    return roles


def let_wait(roles: InMemoryRoles, count: int, first: int = 1) -> None:
    """Register sensors that the reader has already."""
    sensors = TABLES["Sensor"].objects.using(READER)
    for number in range(first, first + count):
        sensors.create(id=f"0x{number:X}", address="foreign", notes="", active=True, heartbeat_timeout=60)
        create_sensor(sensor_id=f"0x{number:X}", actor="test", address="1 Gate Street")
    roles.settle(lambda: waiting() == count)
    roles.rest()


def waiting() -> int:
    return WriterEvent.objects.filter(is_waiting=True).count()


def cure() -> None:
    TABLES["Sensor"].objects.using(READER).filter(address="foreign").delete()


def commits(roles: InMemoryRoles, event: int) -> bool:
    roles.rest()
    return status_of(event) == E.COMMITTED


@pytest.mark.django_db(databases=DATABASES)
@pytest.mark.embedded
class TestWaiting:
    """However many events wait, the line goes on; and when their cause is gone they end as fast as others do."""

    @pytest.mark.slow
    def test_more_than_a_look_goes_over_stop_nobody(self, roles: InMemoryRoles) -> None:
        let_wait(roles, 7)
        assert commits(roles, make_change_set(request_change("DummyItem", "insert", name="a")).event)

    @pytest.mark.slow
    def test_many_behind_one_that_waits_stop_nobody_and_keep_their_order(self, roles: InMemoryRoles) -> None:
        let_wait(roles, 1)
        for number in range(7):
            update_sensor(sensor_id="0x1", actor="test", address=f"{number} Gate Street")
        assert commits(roles, make_change_set(request_change("DummyItem", "insert", name="a")).event)
        cure()
        let_time_pass()
        roles.settle()
        assert TABLES["Sensor"].objects.using(READER).get().address == "6 Gate Street"
        assert not HeldRow.objects.exists()
        assert not WriterEvent.objects.filter(is_behind=True).exists()

    @pytest.mark.slow
    def test_one_behind_another_that_was_behind_comes_back_when_that_has_ended(self, roles: InMemoryRoles) -> None:
        first, second = [make_change_set(request_change("DummyNode", "insert", name=name)).ids[0] for name in "ab"]
        roles.settle()
        held = make_change_set(request_change("DummyNode", "update", first, name="c")).event
        both = make_change_set(
            request_change("DummyNode", "update", first, name="d"),
            request_change("DummyNode", "update", second, name="d"),
        ).event
        last = make_change_set(request_change("DummyNode", "update", second, name="e")).event
        roles.settle(WriterEvent.objects.filter(pk=held, app_event_status_id=E.COMMITTING).exists)
        TABLES["DummyNode"].objects.using(READER).filter(pk=first)._raw_delete(READER)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("processes.coordination.reader.role.apply_changes", _fails)
            roles.rest()
            assert set(WriterEvent.objects.filter(is_behind=True).values_list("pk", flat=True)) == {both, last}
        make_node = TABLES["DummyNode"].objects.using(READER).create
        make_node(id=first, name="a", correlation_id="00000000-0000-0000-0000-000000000001")
        let_time_pass()
        roles.settle()
        assert [status_of(event) for event in (held, both, last)] == [E.COMMITTED] * 3


@pytest.mark.django_db(databases=DATABASES)
@pytest.mark.embedded
class TestAgain:
    @pytest.fixture
    def slow(self, monkeypatch: pytest.MonkeyPatch, settings: Any) -> InMemoryRoles:
        """All roles, with a Coordinator that asks about four that wait, and then no more by itself."""
        settings.COORDINATION_PARALLEL = 20
        monkeypatch.setattr(role, "WAITING_AT_ONCE", 4)
        monkeypatch.setattr(role, "WAITING_PER_SECOND", 0)
        roles = InMemoryRoles()
        roles.live()
        return roles

    def test_few_are_asked_about_at_once(self, slow: InMemoryRoles) -> None:
        let_wait(slow, 12)
        let_time_pass()
        slow.rest(of=[slow.coordinator])
        asked = [
            message.event for message in queued(slow.bus, slow.reader.queue) if message.type == MessageType.PROCESS
        ]
        assert len(asked) == len(set(asked)) == 4

    @pytest.mark.slow
    def test_when_the_cause_is_gone_all_end_without_waiting_for_more_repeats(self, slow: InMemoryRoles) -> None:
        let_wait(slow, 24)
        cure()
        let_time_pass()
        slow.settle()
        assert TABLES["Sensor"].objects.using(READER).count() == 24

    @pytest.mark.slow
    def test_many_refusals_cost_a_reader_no_more_statements_than_few(self, settings: Any) -> None:
        settings.COORDINATION_PARALLEL = 20
        assert self._count_statements(12) <= self._count_statements(4) + 2

    def _count_statements(self, count: int) -> int:
        roles = InMemoryRoles()
        roles.live()
        let_wait(roles, count, first=AppEvent.objects.count() + 1)
        let_time_pass()
        roles.settle(lambda: bool(roles.bus._queues[roles.reader.queue]))
        with CaptureQueriesContext(connections[READER]) as captured:
            roles.rest(of=[roles.reader])
        cure()
        let_time_pass()
        roles.settle()
        return len(captured)


def _fails(*args: Any, **kwargs: Any) -> None:
    raise TypeError("no")
