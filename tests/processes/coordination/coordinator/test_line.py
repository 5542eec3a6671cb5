"""However many events wait, the line goes on; and when their cause is gone they end as fast as others do."""

from typing import Any

import pytest
from django.db import connections
from django.test.utils import CaptureQueriesContext

from processes.coordination.coordinator import activation, decisions, role
from processes.coordination.models import AppEvent, HeldRow, WriterEvent
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

pytestmark = [pytest.mark.django_db(databases=DATABASES), pytest.mark.embedded]
READER = "reader_main"


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


class TestWaiting:
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
        assert self._count_statements(20) <= self._count_statements(4) + 2

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
