import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from config.common.errors import Invalid
from processes.coordination.models import AppEvent, AppEventPayload, DummyItem, DummyNode
from processes.coordination.models.writer import COMMITS, ROLLBACKS
from processes.coordination.protocol.row_changes import decode_change
from processes.coordination.protocol.statuses import EventStatus
from processes.coordination.schema.entities import Op
from processes.coordination.writer.change_sets import RequestedChange, apply_change_set
from processes.coordination.writer.event_records import EventRecord
from tests.processes.coordination.in_memory_roles import item, make_change_set, node, request_change

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]
NOBODY = 987_654


def faults_of(*changes: RequestedChange) -> dict[str, list[str]]:
    """Return what is wrong with a change set, each fault under the number of its change."""
    numbered = [RequestedChange(each.entity, each.op, each.id, each.fields, str(n)) for n, each in enumerate(changes)]
    with pytest.raises(Invalid) as raised:
        apply_change_set(numbered, at=timezone.now())
    found: dict[str, list[str]] = raised.value.data["fields"]
    return found


def parents() -> dict[str, str | None]:
    return dict(DummyNode.objects.values_list("name", "parent__name"))


class TestChange:
    def test_writes_row_event_payload_commit_and_rollback_together(self) -> None:
        made = make_change_set(request_change("DummyItem", "insert", name="a"))
        event = AppEvent.objects.get()
        assert (event.pk, event.status, event.is_published, event.payload_count) == (
            made.event,
            EventStatus.CREATED,
            False,
            1,
        )
        row = DummyItem.objects.get(pk=made.ids[0], name="a", last_event_id=made.event)
        assert decode_change(event.payloads.get().content).after == {"correlation_id": row.correlation_id, "name": "a"}
        assert COMMITS["DummyItem"].objects.get(app_event=event).name == "a"
        rollback = ROLLBACKS["DummyItem"].objects.get(app_event=event)
        assert (rollback.entity_id, rollback.name, rollback.previous_event_id) == (row.pk, None, None)

    def test_an_update_keeps_what_was_there_and_which_event_had_left_it(self) -> None:
        first = make_change_set(request_change("DummyItem", "insert", name="a"))
        second = make_change_set(request_change("DummyItem", "update", first.ids[0], name="b"))
        rollback = ROLLBACKS["DummyItem"].objects.get(app_event=second.event)
        assert (rollback.name, rollback.previous_event_id) == ("a", first.event)
        assert DummyItem.objects.get().last_event_id == second.event

    def test_a_delete_leaves_a_commit_row_without_values(self) -> None:
        pk = item("a")
        made = make_change_set(request_change("DummyItem", "delete", pk))
        commit = COMMITS["DummyItem"].objects.get(app_event=made.event)
        assert (commit.entity_id, commit.name, commit.correlation_id) == (pk, None, None)
        assert not DummyItem.objects.exists()

    @pytest.mark.parametrize(
        ("entity", "op", "number"),
        [("DummyItem", Op.INSERT, 1), ("DummyNode", Op.INSERT, 4), ("DummyNode", Op.DELETE, 6)],
    )
    def test_the_type_is_that_of_the_first_change(self, entity: str, op: Op, number: int) -> None:
        pk = None if op == Op.INSERT else node("a")
        made = make_change_set(request_change(entity, op, pk, **({"name": "x"} if pk is None else {})))
        assert AppEvent.objects.get(pk=made.event).app_event_type_id == number

    def test_ids_come_in_the_order_of_the_changes(self) -> None:
        kept = item("kept")
        made = make_change_set(
            request_change("DummyItem", "insert", name="a"),
            request_change("DummyItem", "update", kept, name="b"),
            request_change("DummyNode", "insert", name="c"),
            request_change("DummyItem", "insert", name="d"),
        )
        names = [DummyItem.objects.get(pk=made.ids[place]).name for place in (0, 1, 3)]
        assert [*names, DummyNode.objects.get(pk=made.ids[2]).name] == ["a", "b", "d", "c"]
        payloads = AppEventPayload.objects.filter(app_event=made.event).order_by("pk")
        assert [decode_change(each.content).id for each in payloads] == made.ids

    def test_takes_the_correlation_id_that_a_caller_gives(self) -> None:
        given = uuid.uuid4()
        make_change_set(request_change("DummyItem", "insert", name="a", correlation_id=given))
        assert DummyItem.objects.get().correlation_id == given

    def test_statements_do_not_grow_with_the_changes(self) -> None:
        few, many = _statements(inserts=2), _statements(inserts=40)
        assert few == many


class TestAllOrNothing:
    def test_one_fault_leaves_everything_as_it_was(self) -> None:
        pk = item("a")
        found = faults_of(
            request_change("DummyItem", "update", pk, name="b"),
            request_change("DummyItem", "insert", name="c"),
            request_change("DummyItem", "delete", NOBODY),
        )
        assert found == {"2.id": ["Row not found."]}
        assert list(DummyItem.objects.values_list("name", flat=True)) == ["a"]
        assert AppEvent.objects.count() == 1

    def test_dies_whole(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def die(*args: Any, **options: Any) -> None:
            raise SystemExit

        monkeypatch.setattr(EventRecord, "write", die)
        with pytest.raises(SystemExit):
            make_change_set(request_change("DummyItem", "insert", name="a"))
        assert (DummyItem.objects.count(), AppEvent.objects.count()) == (0, 0)

    def test_every_fault_is_named(self) -> None:
        found = faults_of(
            request_change("DummyItem", "update", NOBODY, name="b"),
            request_change("DummyNode", "insert", name="c", parent=NOBODY),
            request_change("DummyNode", "delete", NOBODY),
        )
        assert sorted(found) == ["0.id", "1.parent", "2.id"]


class TestSeveralChangesOfOneRow:
    def test_the_last_one_stands_and_the_first_one_is_taken_back(self) -> None:
        pk = item("a")
        made = make_change_set(*(request_change("DummyItem", "update", pk, name=name) for name in ("b", "c")))
        assert DummyItem.objects.get().name == "c"
        assert AppEventPayload.objects.filter(app_event=made.event).count() == 2
        assert COMMITS["DummyItem"].objects.get(app_event=made.event).name == "c"
        assert ROLLBACKS["DummyItem"].objects.get(app_event=made.event).name == "a"

    def test_each_builds_upon_the_one_before(self) -> None:
        root, pk = node("root"), node("a")
        make_change_set(
            request_change("DummyNode", "update", pk, name="b"), request_change("DummyNode", "update", pk, parent=root)
        )
        assert parents() == {"root": None, "b": "root"}

    def test_a_row_that_the_set_has_deleted_is_not_there_any_more(self) -> None:
        pk = item("a")
        found = faults_of(
            request_change("DummyItem", "delete", pk), request_change("DummyItem", "update", pk, name="b")
        )
        assert found == {"1.id": ["Row not found."]}

    def test_changed_and_deleted_it_is_gone(self) -> None:
        pk = item("a")
        made = make_change_set(
            request_change("DummyItem", "update", pk, name="b"), request_change("DummyItem", "delete", pk)
        )
        assert not DummyItem.objects.exists()
        assert COMMITS["DummyItem"].objects.get(app_event=made.event).name is None


class TestTree:
    def test_refuses_a_parent_that_is_not_there(self) -> None:
        pk = node("a")
        for change_of_parent in (
            request_change("DummyNode", "insert", name="b", parent=NOBODY),
            request_change("DummyNode", "update", pk, parent=NOBODY),
        ):
            assert faults_of(change_of_parent) == {"0.parent": ["Row not found."]}

    def test_refuses_a_parent_that_the_set_has_deleted(self) -> None:
        gone = node("gone")
        found = faults_of(
            request_change("DummyNode", "delete", gone), request_change("DummyNode", "insert", name="b", parent=gone)
        )
        assert list(found) == ["1.parent"]

    @pytest.mark.parametrize("depth", [0, 1, 3])
    def test_refuses_a_circle(self, depth: int) -> None:
        line = [node("0")]
        for n in range(depth):
            line.append(node(str(n + 1), line[-1]))
        found = faults_of(request_change("DummyNode", "update", line[0], parent=line[-1]))
        assert found == {"0.parent": ["Is a descendant of this row: that would make a cycle."]}

    def test_refuses_a_circle_that_two_moves_make_together(self) -> None:
        first, second = node("a"), node("b")
        found = faults_of(
            request_change("DummyNode", "update", first, parent=second),
            request_change("DummyNode", "update", second, parent=first),
        )
        assert list(found) == ["1.parent"]

    def test_turns_a_line_round_if_no_move_makes_a_circle(self) -> None:
        top = node("top")
        below = node("below", top)
        make_change_set(
            request_change("DummyNode", "update", below, parent=None),
            request_change("DummyNode", "update", top, parent=below),
        )
        assert parents() == {"top": "below", "below": None}

    def test_refuses_to_delete_a_row_with_children(self) -> None:
        top = node("top")
        node("below", top)
        assert faults_of(request_change("DummyNode", "delete", top)) == {
            "0.id": ["Has children: delete or move them first."]
        }

    def test_refuses_to_delete_a_row_that_the_set_has_given_a_child(self) -> None:
        top, other = node("top"), node("other")
        for child in (
            request_change("DummyNode", "insert", name="new", parent=top),
            request_change("DummyNode", "update", other, parent=top),
        ):
            found = faults_of(child, request_change("DummyNode", "delete", top))
            assert found == {"1.id": ["Has children: delete or move them first."]}

    def test_deletes_a_row_whose_children_the_set_has_deleted_or_moved(self) -> None:
        top, other = node("top"), node("other")
        gone, moved = node("gone", top), node("moved", top)
        make_change_set(
            request_change("DummyNode", "delete", gone),
            request_change("DummyNode", "update", moved, parent=other),
            request_change("DummyNode", "delete", top),
        )
        assert parents() == {"other": None, "moved": "other"}

    @pytest.mark.django_db(transaction=True)
    def test_two_moves_at_once_make_no_circle(self, in_threads: Callable[..., list[Any]]) -> None:
        pair = [node("a"), node("b")]

        def move(number: int) -> bool:
            try:
                make_change_set(request_change("DummyNode", "update", pair[number], parent=pair[1 - number]))
            except Invalid:
                return False
            return True

        assert sorted(in_threads(move, 2)) == [False, True]


class TestOrderOfEvents:
    @pytest.mark.django_db(transaction=True)
    def test_events_of_one_row_have_ids_in_the_order_of_their_changes(
        self, in_threads: Callable[..., list[Any]]
    ) -> None:
        pk = item("a")
        in_threads(lambda n: make_change_set(request_change("DummyItem", "update", pk, name=str(n))), 4)
        rollbacks = ROLLBACKS["DummyItem"].objects.order_by("app_event_id")
        previous = [row.previous_event_id for row in rollbacks]
        events = [row.app_event_id for row in rollbacks]
        assert previous == [None, *events[:-1]]
        assert DummyItem.objects.get().last_event_id == events[-1]


def _statements(*, inserts: int) -> int:
    with CaptureQueriesContext(connection) as captured:
        make_change_set(*(request_change("DummyItem", "insert", name="a") for _ in range(inserts)))
    return len(captured)
