import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import ProgrammingError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.utils.translation import override

from notifications.errors import DecisionNeeded
from notifications.models import Alert, Event
from notifications.services.alerts import resolve_alert
from processes.coordination.models import AppEvent, DummyItem, DummyNode
from processes.coordination.models.writer import TABLES
from processes.coordination.protocol.messages import WRITER, Message, MessageType
from processes.coordination.protocol.reasons import format_reason
from processes.coordination.protocol.statuses import EventStatus
from processes.coordination.writer import compensation, resolution
from processes.coordination.writer.compensation import ALERT, cancel_event
from processes.coordination.writer.role import Writer
from tests.processes.coordination.in_memory_roles import (
    InMemoryRoles,
    item,
    make_change_set,
    node,
    open_alert,
    request_change,
    rows_of,
    status_of,
)

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]


def take_back(event: int) -> bool:
    return cancel_event(AppEvent.objects.get(pk=event), reason="main: no", at=timezone.now())


def rows(name: str) -> dict[int, dict[str, Any]]:
    return {pk: dict(values) for pk, values in rows_of(TABLES[name], using="default").items()}


def last_event(model: Any, pk: int) -> int:
    return int(model.objects.get(pk=pk).last_event_id)


class TestCancel:
    def test_takes_an_insert_back(self) -> None:
        made = make_change_set(
            request_change("DummyItem", "insert", name="a"), request_change("DummyNode", "insert", name="b")
        )
        assert take_back(made.event)
        assert (rows("DummyItem"), rows("DummyNode")) == ({}, {})

    def test_takes_an_update_back_with_the_event_that_had_left_the_row(self) -> None:
        first = make_change_set(request_change("DummyItem", "insert", name="a"))
        before = rows("DummyItem")
        assert take_back(make_change_set(request_change("DummyItem", "update", first.ids[0], name="b")).event)
        assert rows("DummyItem") == before
        assert last_event(DummyItem, first.ids[0]) == first.event

    def test_takes_a_delete_back_under_the_same_id(self) -> None:
        top = node("top")
        child = node("child", top)
        before, last = rows("DummyNode"), last_event(DummyNode, child)
        assert take_back(
            make_change_set(
                request_change("DummyNode", "delete", child), request_change("DummyNode", "delete", top)
            ).event
        )
        assert rows("DummyNode") == before
        assert last_event(DummyNode, child) == last

    def test_takes_several_changes_of_one_row_back_to_before_the_first(self) -> None:
        pk = item("a")
        before = rows("DummyItem")
        made = make_change_set(
            request_change("DummyItem", "update", pk, name="b"), request_change("DummyItem", "delete", pk)
        )
        assert take_back(made.event)
        assert rows("DummyItem") == before

    def test_ends_the_event_and_says_why(self) -> None:
        made = make_change_set(request_change("DummyItem", "insert", name="a"))
        take_back(made.event)
        event = AppEvent.objects.get(pk=made.event)
        assert (event.status, event.is_published, event.reason) == (EventStatus.CANCELED, False, "main: no")
        assert event.ended_at is not None
        assert event.again_at is None
        assert "35.7" in event.steps
        told = Event.objects.get(type="coordination.canceled")
        assert told.payload == {"event": made.event, "type": "DummyItemMain.Insert", "reason": "main: no"}

    def test_never_undoes_the_registry(self) -> None:
        event = AppEvent.objects.create(date=timezone.now(), app_event_type_id=7, is_undone=False)
        assert take_back(event.pk)


class Obstructed:
    """A compensation that something stands in the way of."""

    def __init__(self, event: int, why: str, *names: str) -> None:
        self.event, self.why, self.names = event, why, names


def touched_since() -> Obstructed:
    made = make_change_set(
        request_change("DummyItem", "insert", name="a"), request_change("DummyItem", "insert", name="b")
    )
    newer = make_change_set(request_change("DummyItem", "update", made.ids[1], name="c"))
    return Obstructed(made.event, f"DummyItem {made.ids[1]} has since been changed by change set {newer.event}")


def deleted_since() -> Obstructed:
    made = make_change_set(request_change("DummyItem", "insert", name="a"))
    make_change_set(request_change("DummyItem", "delete", made.ids[0]))
    return Obstructed(made.event, f"DummyItem {made.ids[0]} has since been deleted")


def parent_gone() -> Obstructed:
    top = node("top")
    moved = node("moved", top)
    made = make_change_set(request_change("DummyNode", "update", moved, parent=None))
    make_change_set(request_change("DummyNode", "delete", top))
    return Obstructed(made.event, f"DummyNode {moved} cannot be restored: Row not found.")


def parent_of_deleted_gone() -> Obstructed:
    top = node("top")
    child = node("child", top)
    made = make_change_set(request_change("DummyNode", "delete", child))
    make_change_set(request_change("DummyNode", "delete", top))
    return Obstructed(made.event, f"DummyNode {child} cannot be restored: Row not found.")


def circle() -> Obstructed:
    top = node("top")
    below = node("below", top)
    made = make_change_set(request_change("DummyNode", "update", below, parent=None))
    make_change_set(request_change("DummyNode", "update", top, parent=below))
    return Obstructed(
        made.event, f"DummyNode {below} cannot be restored: Is a descendant of this row: that would make a cycle."
    )


def new_children() -> Obstructed:
    made = make_change_set(request_change("DummyNode", "insert", name="top"))
    node("child", made.ids[0])
    return Obstructed(
        made.event, f"DummyNode {made.ids[0]} cannot be restored: Has children: delete or move them first."
    )


LATIN = re.compile(r"[A-Za-z]+")
OBSTACLES = [touched_since, deleted_since, parent_gone, parent_of_deleted_gone, circle, new_children]


@pytest.mark.parametrize("arrange", OBSTACLES)
class TestFailure:
    def test_is_a_state_that_says_why(self, arrange: Callable[[], Obstructed]) -> None:
        obstructed = arrange()
        assert not take_back(obstructed.event)
        event = AppEvent.objects.get(pk=obstructed.event)
        assert (event.status, format_reason(event.reason)) == (EventStatus.COMPENSATION_FAILED, obstructed.why)
        assert (event.ended_at, event.again_at) == (None, None)
        assert Event.objects.get(type="coordination.compensation_failed").payload["reason"] == obstructed.why

    def test_changes_nothing(self, arrange: Callable[[], Obstructed]) -> None:
        obstructed = arrange()
        before = rows("DummyItem"), rows("DummyNode")
        take_back(obstructed.event)
        assert (rows("DummyItem"), rows("DummyNode")) == before

    def test_raises_an_alert(self, arrange: Callable[[], Obstructed]) -> None:
        obstructed = arrange()
        take_back(obstructed.event)
        alert = Alert.objects.get(kind=ALERT)
        assert (alert.subject, alert.status) == (f"coordination/{obstructed.event}", Alert.Status.OPEN)
        with pytest.raises(DecisionNeeded):
            resolve_alert(alert.pk, "staff:olga")
        assert str(alert).endswith(f"could not be undone: {obstructed.why}")

    def test_is_kept_for_readers_of_any_language(self, arrange: Callable[[], Obstructed]) -> None:
        """Whoever tries again may read another language than those who look at it later."""
        obstructed = arrange()
        with override("ru"):
            take_back(obstructed.event)
        kept = AppEvent.objects.get(pk=obstructed.event).reason
        assert format_reason(kept) == obstructed.why
        assert Event.objects.get(type="coordination.compensation_failed").payload["reason"] == obstructed.why
        with override("ru"):
            assert not set(LATIN.findall(format_reason(kept))) - {"DummyItem", "DummyNode"}
            assert not set(LATIN.findall(str(Alert.objects.get(kind=ALERT)))) - {"DummyItem", "DummyNode"}


class TestWhole:
    def test_rows_of_one_entity_are_not_taken_back_without_those_of_another(self) -> None:
        leaf, thing = node("leaf"), item("thing")
        made = make_change_set(
            request_change("DummyItem", "update", thing, name="changed"),
            request_change("DummyNode", "update", leaf, name="changed"),
        )
        make_change_set(request_change("DummyNode", "update", leaf, name="newer"))
        make_change_set(request_change("DummyItem", "insert", name="other"))
        before = rows("DummyItem"), rows("DummyNode")
        assert not take_back(made.event)
        assert (rows("DummyItem"), rows("DummyNode")) == before


class TestRepeat:
    def test_succeeds_when_nothing_stands_in_the_way_any_more_and_heals_the_alert(self) -> None:
        made = make_change_set(request_change("DummyItem", "insert", name="a"))
        newer = make_change_set(request_change("DummyItem", "update", made.ids[0], name="b"))
        take_back(made.event)
        assert take_back(newer.event)
        assert take_back(made.event)
        assert rows("DummyItem") == {}
        assert open_alert(ALERT) is None


class TestStep35_7:
    def test_takes_the_newest_back_first(self) -> None:
        roles = InMemoryRoles()
        first = make_change_set(request_change("DummyItem", "insert", name="a"))
        others = [
            make_change_set(request_change("DummyItem", "update", first.ids[0], name=name)).event for name in ("b", "c")
        ]
        self._tell(roles.writer, first.event, *others)
        assert {status_of(event) for event in (first.event, *others)} == {EventStatus.CANCELED}
        assert rows("DummyItem") == {}

    def test_told_twice_takes_back_once(self) -> None:
        roles = InMemoryRoles()
        pk = item("a")
        made = make_change_set(request_change("DummyItem", "update", pk, name="b"))
        self._tell(roles.writer, made.event)
        make_change_set(request_change("DummyItem", "update", pk, name="c"))
        self._tell(roles.writer, made.event)
        assert status_of(made.event) == EventStatus.CANCELED
        assert DummyItem.objects.get().name == "c"
        assert Event.objects.filter(type="coordination.canceled").count() == 1

    def test_a_committed_event_is_not_taken_back(self) -> None:
        roles = InMemoryRoles()
        made = make_change_set(request_change("DummyItem", "insert", name="a"))
        roles.bus.send([(WRITER, Message(MessageType.EVENT_COMMITTED, event=made.event))])
        roles.writer.receive()
        self._tell(roles.writer, made.event)
        assert status_of(made.event) == EventStatus.COMMITTED
        assert DummyItem.objects.exists()

    def _tell(self, writer: Writer, *events: int) -> None:
        writer.bus.send([(WRITER, Message(MessageType.EVENT_CANCELED, event=event, reason="no")) for event in events])
        writer.receive()


class TestBlocked:
    """A newer set stands in the way, and is itself cancelled later."""

    def test_is_tried_again_by_itself(self) -> None:
        roles = InMemoryRoles()
        first = make_change_set(request_change("DummyItem", "insert", name="a"))
        newer = make_change_set(request_change("DummyItem", "update", first.ids[0], name="b"))
        tell_canceled(roles, first.event, "main: no")
        assert status_of(first.event) == EventStatus.COMPENSATION_FAILED
        tell_canceled(roles, newer.event, "main: neither")
        assert status_of(first.event) == EventStatus.CANCELED
        assert rows("DummyItem") == {}
        assert open_alert(ALERT) is None
        assert AppEvent.objects.get(pk=first.event).reason == "main: no"

    def test_so_are_those_that_waited_for_that_one(self) -> None:
        roles = InMemoryRoles()
        first = make_change_set(request_change("DummyItem", "insert", name="a"))
        others = [
            make_change_set(request_change("DummyItem", "update", first.ids[0], name=name)).event for name in "bc"
        ]
        for event in (first.event, *others):
            tell_canceled(roles, event, "main: no")
        assert {status_of(event) for event in (first.event, *others)} == {EventStatus.CANCELED}

    def test_a_parent_waits_for_its_new_child(self) -> None:
        roles = InMemoryRoles()
        top = make_change_set(request_change("DummyNode", "insert", name="top"))
        child = make_change_set(request_change("DummyNode", "insert", name="child", parent=top.ids[0]))
        tell_canceled(roles, top.event, "main: no")
        tell_canceled(roles, child.event, "main: no")
        assert (status_of(top.event), rows("DummyNode")) == (EventStatus.CANCELED, {})

    @pytest.mark.parametrize("action", resolution.Action)
    def test_the_first_reason_stays_when_it_is_resolved(self, action: resolution.Action) -> None:
        roles = InMemoryRoles()
        first = make_change_set(request_change("DummyItem", "insert", name="a"))
        newer = make_change_set(request_change("DummyItem", "update", first.ids[0], name="b"))
        tell_canceled(roles, first.event, "main: no")
        DummyItem.objects.update(last_event_id=first.event)
        AppEvent.objects.filter(pk=newer.event).delete()
        resolution.resolve_compensation(
            first.event, action=action, reason="I have looked", actor="olga", at=timezone.now()
        )
        event = AppEvent.objects.get(pk=first.event)
        assert (event.reason, event.resolution) == ("main: no", "I have looked")


def tell_canceled(roles: InMemoryRoles, event: int, reason: str) -> None:
    roles.bus.send([(WRITER, Message(MessageType.EVENT_CANCELED, event=event, reason=reason))])
    roles.writer.receive()


class TestUnexpected:
    def test_whatever_the_database_says_is_an_obstacle_that_staff_are_told(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Dropped with a word in the log, it would be told again for ever."""

        def raises(*args: Any) -> None:
            raise ProgrammingError("a trigger says no")

        made = make_change_set(request_change("DummyItem", "insert", name="a"))
        monkeypatch.setattr(compensation, "delete_rows", raises)
        assert not take_back(made.event)
        assert status_of(made.event) == EventStatus.COMPENSATION_FAILED
        assert "a trigger says no" in str(open_alert(ALERT))


class TestLocks:
    @pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one lock")
    def test_trees_are_held_before_rows_as_a_change_does(self) -> None:
        """Held the other way round, a change and a compensation of the same rows would wait for each other."""
        made = make_change_set(
            request_change("DummyItem", "insert", name="a"), request_change("DummyNode", "insert", name="b")
        )
        with CaptureQueriesContext(connection) as captured:
            take_back(made.event)
        locks = [query["sql"] for query in captured if "FOR " in query["sql"] and "UPDATE" in query["sql"]]
        tables = [table for sql in locks for table in ("appeventtype", "dummyitem", "dummynode") if f'_{table}"' in sql]
        assert tables == ["appeventtype", "dummyitem", "dummynode"]
