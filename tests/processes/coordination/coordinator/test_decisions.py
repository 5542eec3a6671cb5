from typing import Any

import pytest

from notifications.models import Event
from processes.coordination.coordinator.answers import SILENT, WAITS
from processes.coordination.coordinator.decisions import REFUSED
from processes.coordination.models import AppEvent, CoordinatorState, DummyItem, WriterEvent, WriterEventReader
from processes.coordination.protocol.messages import COORDINATOR, Message, MessageType
from processes.coordination.protocol.reasons import format_reason
from processes.coordination.protocol.statuses import EventStatus
from processes.coordination.reader import models as of_reader
from processes.coordination.writer.change_sets import AppliedChangeSet
from sensors.services.sensors import create_sensor, update_sensor
from tests.processes.coordination.in_memory_roles import (
    DATABASES,
    InMemoryRoles,
    let_time_pass,
    make_change_set,
    node,
    open_alert,
    pass_deadline,
    queued,
    request_change,
    rows_of,
    status_of,
)

pytestmark = pytest.mark.django_db(databases=DATABASES)
READER = "reader_main"


@pytest.fixture
def roles() -> InMemoryRoles:
    roles = InMemoryRoles()
    roles.live()
    return roles


def read(name: str) -> Any:
    return of_reader.TABLES[name].objects.using(READER)


def statuses(event: int) -> list[EventStatus]:
    """Return what the Writer, the Coordinator and the reader say of an event."""
    at_reader = of_reader.AppEvent.objects.using(READER).get(pk=event)
    return [status_of(event), WriterEvent.objects.get(pk=event).status, at_reader.status]


def make_unwelcome() -> AppliedChangeSet:
    """Insert an item that the reader has already."""
    made = make_change_set(request_change("DummyItem", "insert", name="a"))
    read("DummyItem").create(id=made.ids[0], name="foreign", correlation_id=DummyItem.objects.get().correlation_id)
    return made


def register(address: str = "1 Gate Street") -> int:
    create_sensor(sensor_id="0xA", actor="test", address=address)
    return AppEvent.objects.latest("pk").pk


def have_sensor_already() -> None:
    read("Sensor").create(id="0xA", address="foreign", notes="", active=True, heartbeat_timeout=60)


class TestRefusal:
    def test_cancels_the_event_on_all_sides(self, roles: InMemoryRoles) -> None:
        made = make_unwelcome()
        roles.settle()
        assert statuses(made.event) == [EventStatus.CANCELED] * 3
        assert not DummyItem.objects.exists()
        assert read("DummyItem").get().name == "foreign"

    def test_raises_an_alert_and_keeps_the_reason(self, roles: InMemoryRoles) -> None:
        made = make_unwelcome()
        roles.settle()
        reason = f"DummyItem {made.ids[0]} already exists"
        alert = open_alert(REFUSED)
        assert alert is not None
        assert (alert.subject, str(alert)) == ("reader/main", f"Reader main refuses change set {made.event}: {reason}")
        assert AppEvent.objects.get().reason == WriterEvent.objects.get().reason
        assert format_reason(AppEvent.objects.get().reason) == f"main: {reason}"
        assert Event.objects.get(type="coordination.canceled").payload["reason"] == f"main: {reason}"

    def test_leaves_the_next_event_alone(self, roles: InMemoryRoles) -> None:
        make_unwelcome()
        other = make_change_set(request_change("DummyItem", "insert", name="b"))
        roles.settle()
        assert statuses(other.event) == [EventStatus.COMMITTED] * 3


class TestDeadline:
    def test_of_a_silent_reader_cancels_the_event(self, roles: InMemoryRoles) -> None:
        made = make_change_set(request_change("DummyItem", "insert", name="a"))
        roles.rest_without_reader()
        assert WriterEvent.objects.get().status == EventStatus.ACTIVATED
        pass_deadline()
        roles.rest_without_reader()
        assert WriterEvent.objects.get().status == EventStatus.CANCELING
        alert = open_alert(SILENT)
        assert alert is not None
        assert (alert.subject, alert.detail["event"]) == ("reader/main", made.event)

    def test_nobody_waits_for_a_silent_reader_to_confirm(self, roles: InMemoryRoles) -> None:
        made = self._cancel_without_reader(roles)
        assert status_of(made.event) == EventStatus.CANCELED
        why = f"Reader main did not answer about change set {made.event} in time"
        assert format_reason(AppEvent.objects.get().reason) == why
        assert not DummyItem.objects.exists()

    def test_the_alert_heals_when_the_reader_answers(self, roles: InMemoryRoles) -> None:
        made = self._cancel_without_reader(roles)
        roles.rest()
        assert open_alert(SILENT) is None
        assert statuses(made.event) == [EventStatus.CANCELED] * 3
        assert not read("DummyItem").exists()

    def test_a_reader_is_told_of_the_cancellation_until_it_confirms(self, roles: InMemoryRoles) -> None:
        self._cancel_without_reader(roles)
        roles.bus._queues.clear()
        let_time_pass()
        roles.rest()
        assert WriterEventReader.objects.get().verdict == "canceled"
        let_time_pass()
        roles.rest()
        assert WriterEvent.objects.get().again_at is None

    def test_an_answer_that_came_by_then_counts(self, roles: InMemoryRoles) -> None:
        made = make_change_set(request_change("DummyItem", "insert", name="a"))
        roles.settle(lambda: any(message.type == MessageType.PROCESSED for message in queued(roles.bus)))
        pass_deadline()
        roles.settle()
        assert status_of(made.event) == EventStatus.COMMITTED
        assert open_alert(SILENT) is None

    def test_is_not_met_before_its_time(self, roles: InMemoryRoles, settings: Any) -> None:
        make_change_set(request_change("DummyItem", "insert", name="a"))
        roles.rest_without_reader()
        begun = WriterEvent.objects.get().clock or 0.0
        CoordinatorState.objects.update(clock=begun + settings.COORDINATION_DEADLINE - 1)
        roles.coordinator.run_once()
        assert WriterEvent.objects.get().status == EventStatus.ACTIVATED

    def _cancel_without_reader(self, roles: InMemoryRoles) -> AppliedChangeSet:
        made = make_change_set(request_change("DummyItem", "insert", name="a"))
        roles.rest_without_reader()
        pass_deadline()
        roles.rest_without_reader()
        let_time_pass()
        roles.rest_without_reader()
        roles.rest_without_reader()
        return made


class TestRegistry:
    def test_that_is_refused_waits_with_an_alert(self, roles: InMemoryRoles) -> None:
        event = self._refused(roles)
        assert status_of(event) == EventStatus.SAVED
        assert WriterEvent.objects.get().is_waiting
        alert = open_alert(WAITS)
        assert alert is not None
        assert (alert.subject, alert.detail["reader"]) == (f"coordination/{event}", "main")

    def test_others_go_on_and_those_of_the_same_row_do_not(self, roles: InMemoryRoles) -> None:
        event = self._refused(roles)
        update_sensor(sensor_id="0xA", actor="test", address="2 Gate Street")
        later = AppEvent.objects.latest("pk").pk
        other = make_change_set(request_change("DummyItem", "insert", name="a"))
        roles.settle(lambda: status_of(other.event) == EventStatus.COMMITTED)
        assert [WriterEvent.objects.get(pk=pk).status for pk in (event, later)] == [
            EventStatus.PROCESSED,
            EventStatus.SAVED,
        ]

    def test_is_asked_about_again_and_commits_when_the_reader_agrees(self, roles: InMemoryRoles) -> None:
        event = self._refused(roles)
        for _ in range(2):
            let_time_pass()
            roles.rest()
        alert = open_alert(WAITS)
        assert alert is not None
        assert alert.count == 1
        read("Sensor").all().delete()
        let_time_pass()
        roles.settle()
        assert statuses(event) == [EventStatus.COMMITTED] * 3
        assert read("Sensor").get().address == "1 Gate Street"
        assert open_alert(WAITS) is None

    def test_past_its_deadline_waits_and_commits_when_the_reader_answers(self, roles: InMemoryRoles) -> None:
        event = register()
        roles.rest_without_reader()
        pass_deadline()
        roles.rest_without_reader()
        asked_again_at = WriterEvent.objects.get().again_at
        roles.coordinator.run_once()
        alert = open_alert(SILENT)
        assert alert is not None
        assert (alert.subject, alert.count, open_alert(WAITS)) == ("reader/main", 1, None), "one fact is told once"
        event_row = WriterEvent.objects.get()
        assert (event_row.status, event_row.again_at) == (EventStatus.ACTIVATED, asked_again_at)
        roles.settle()
        assert statuses(event) == [EventStatus.COMMITTED] * 3
        assert (open_alert(WAITS), open_alert(SILENT)) == (None, None)

    def test_past_its_deadline_and_then_refused_is_told_of(self, roles: InMemoryRoles) -> None:
        have_sensor_already()
        event = register()
        roles.rest_without_reader()
        pass_deadline()
        roles.rest_without_reader()
        for _ in range(3):
            let_time_pass()
            roles.rest()
        alert = open_alert(WAITS)
        assert alert is not None
        assert (alert.subject, alert.count, open_alert(SILENT)) == (f"coordination/{event}", 1, None)

    def test_is_never_cancelled_however_long_it_waits(self, roles: InMemoryRoles) -> None:
        event = self._refused(roles)
        for _ in range(3):
            pass_deadline()
            let_time_pass()
            roles.rest()
        assert not Event.objects.filter(type="coordination.canceled").exists()
        assert status_of(event) == EventStatus.SAVED

    def _refused(self, roles: InMemoryRoles) -> int:
        have_sensor_already()
        event = register()
        roles.rest()
        return event


class TestCommitting:
    """Once committing, an event is never cancelled."""

    def test_is_not_ended_by_the_deadline(self, roles: InMemoryRoles) -> None:
        made = self._committing(roles)
        pass_deadline()
        roles.rest_without_reader()
        assert WriterEvent.objects.get(pk=made.event).status == EventStatus.COMMITTING
        roles.settle()
        assert status_of(made.event) == EventStatus.COMMITTED

    def test_a_late_refusal_raises_an_alert_and_cancels_nothing(self, roles: InMemoryRoles) -> None:
        made = self._committing(roles)
        late = Message(MessageType.PROCESSED, event=made.event, role="main", reason="no")
        roles.bus.send([(COORDINATOR, late)])
        roles.coordinator.run_once()
        assert WriterEvent.objects.get(pk=made.event).status == EventStatus.COMMITTING
        assert open_alert(WAITS) is not None
        roles.settle()
        assert status_of(made.event) == EventStatus.COMMITTED
        assert open_alert(WAITS) is None

    def test_a_reader_that_cannot_apply_is_told_until_it_can(self, roles: InMemoryRoles) -> None:
        top = node("top")
        roles.settle()
        kept = rows_of(of_reader.TABLES["DummyNode"], using=READER)[top]
        made = self._committing(roles, request_change("DummyNode", "insert", name="child", parent=top))
        read("DummyNode").filter(pk=top)._raw_delete(READER)
        roles.rest()
        assert WriterEvent.objects.get(pk=made.event).status == EventStatus.COMMITTING
        assert open_alert(WAITS) is not None
        read("DummyNode").create(**kept)
        let_time_pass()
        roles.settle()
        assert statuses(made.event) == [EventStatus.COMMITTED] * 3
        assert open_alert(WAITS) is None

    def test_a_reader_that_has_lost_the_event_and_then_refuses_it_is_told_until_it_can(
        self, roles: InMemoryRoles
    ) -> None:
        top = node("top")
        roles.settle()
        kept = rows_of(of_reader.TABLES["DummyNode"], using=READER)[top]
        made = self._committing(roles, request_change("DummyNode", "insert", name="child", parent=top))
        of_reader.AppEvent.objects.using(READER).all().delete()
        read("DummyNode").filter(pk=top)._raw_delete(READER)
        roles.rest()
        assert of_reader.AppEvent.objects.using(READER).get(pk=made.event).reason != ""
        read("DummyNode").create(**kept)
        let_time_pass()
        roles.settle()
        assert statuses(made.event) == [EventStatus.COMMITTED] * 3
        assert open_alert(WAITS) is None

    def _committing(self, roles: InMemoryRoles, *changes: Any) -> AppliedChangeSet:
        made = make_change_set(*(changes or [request_change("DummyItem", "insert", name="a")]))
        committing = WriterEvent.objects.filter(pk=made.event, app_event_status_id=EventStatus.COMMITTING)
        roles.settle(committing.exists)
        return made
