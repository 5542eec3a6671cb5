import uuid
from typing import Any

import pytest
from django.db import IntegrityError, connections

from processes.coordination.protocol.reasons import format_reason
from processes.coordination.protocol.row_changes import RowChange
from processes.coordination.reader import apply
from processes.coordination.reader.apply import Refused, apply_changes, judge_events, read_commit_rows
from processes.coordination.reader.models import COMMITS, TABLES, AppEvent
from processes.coordination.schema.entities import BY_NAME, Values
from tests.processes.coordination.in_memory_roles import DATABASES, rows_of

pytestmark = [pytest.mark.django_db(databases=DATABASES), pytest.mark.embedded]
ALIAS = "reader_main"
GUID = uuid.UUID(int=1)


def named(name: str = "a", **more: Any) -> Values:
    return {"correlation_id": GUID, "name": name, **more}


def node(id: int, parent: int | None = None, *, before: Values | None = None) -> RowChange:
    return RowChange(BY_NAME["DummyNode"], id, before, named(parent=parent))


def gone(entity: str, id: Any, values: Values | None = None) -> RowChange:
    return RowChange(BY_NAME[entity], id, values or named(parent=None), None)


def item(id: int, name: str = "a", *, before: Values | None = None) -> RowChange:
    return RowChange(BY_NAME["DummyItem"], id, before, named(name))


def sensor(id: str = "0xA", *, after: bool = True) -> RowChange:
    values = {
        "address": "street",
        "notes": "",
        "active": True,
        "heartbeat_timeout": 60,
        "muted_until": None,
        "open_limit": None,
    }
    return RowChange(BY_NAME["Sensor"], id, None if after else values, values if after else None)


def client(id: int = 1) -> RowChange:
    values = {"name": "watch", "url": "https://x.example", "active": True, "paused": False, "muted_until": None}
    return RowChange(BY_NAME["Client"], id, None, values)


def link(sensor_id: str = "0xA", client_id: int = 1, *, after: bool = True) -> RowChange:
    values = {"sensor": sensor_id, "client": client_id}
    key = f"{sensor_id}:{client_id}"
    return RowChange(BY_NAME["SensorLink"], key, None if after else values, values if after else None)


def have(*changes: RowChange) -> None:
    apply_changes(list(changes), alias=ALIAS)


def attempt(*changes: RowChange) -> str:
    return format_reason(judge_events({1: list(changes)}, alias=ALIAS)[1])


def ids(entity: str) -> list[Any]:
    return sorted(rows_of(TABLES[entity], using=ALIAS))


def parents() -> dict[int, int | None]:
    return {pk: row["parent_id"] for pk, row in rows_of(TABLES["DummyNode"], using=ALIAS).items()}


class TestTryChanges:
    def test_changes_nothing_whatever_it_finds(self) -> None:
        have(item(1))
        assert attempt(item(2), item(1, "b", before=named()), gone("DummyItem", 1)) == ""
        assert rows_of(TABLES["DummyItem"], using=ALIAS) == {1: {"id": 1, **named()}}

    def test_refuses_to_insert_what_is_here(self) -> None:
        have(item(1))
        assert attempt(item(2), item(1)) == "DummyItem 1 already exists"

    @pytest.mark.parametrize("change", [item(1, "b", before=named()), gone("DummyItem", 1)])
    def test_refuses_to_change_or_delete_what_is_not_here(self, change: RowChange) -> None:
        assert attempt(change) == "DummyItem 1 does not exist"

    def test_refuses_a_reference_to_nothing(self) -> None:
        have(sensor())
        for change in (node(1, 99), link()):
            assert attempt(change) != ""
        assert (ids("DummyNode"), ids("SensorLink")) == ([], [])

    def test_refuses_to_delete_what_is_still_used(self) -> None:
        have(node(1), node(2, 1), sensor(), client(), link())
        assert attempt(gone("DummyNode", 1)) == "DummyNode 1 is still referenced by DummyNode 2"
        assert attempt(sensor(after=False)) == "Sensor 0xA is still referenced by SensorLink 0xA:1"

    def test_refuses_what_a_column_cannot_hold(self) -> None:
        empty = RowChange(BY_NAME["DummyItem"], 1, None, {"correlation_id": None, "name": "a"})
        assert attempt(empty) != ""
        assert ids("DummyItem") == []

    def test_the_connection_is_of_use_after_a_refusal(self) -> None:
        attempt(node(1, 99))
        assert attempt(node(1)) == ""


class TestApplyChanges:
    def test_in_the_order_of_the_entities(self) -> None:
        have(link(), client(), sensor())
        assert (ids("Sensor"), ids("Client"), ids("SensorLink")) == (["0xA"], [1], ["0xA:1"])
        have(sensor(after=False), link(after=False))
        assert (ids("Sensor"), ids("SensorLink")) == ([], [])

    def test_a_child_that_stands_before_its_parent(self) -> None:
        have(node(2, 1), node(1))
        assert parents() == {1: None, 2: 1}

    def test_a_parent_that_goes_with_its_children(self) -> None:
        have(node(1), node(2, 1), node(3, 2), node(4, 1))
        moved = RowChange(BY_NAME["DummyNode"], 4, named(parent=1), named(parent=None))
        have(gone("DummyNode", 3), gone("DummyNode", 2), moved, gone("DummyNode", 1))
        assert parents() == {4: None}

    def test_writes_the_last_values(self) -> None:
        have(item(1))
        have(item(1, "b", before=named()))
        assert rows_of(TABLES["DummyItem"], using=ALIAS)[1]["name"] == "b"

    def test_what_fails_is_raised(self) -> None:
        with pytest.raises((Refused, IntegrityError)):
            have(node(2, 1))
        if connections[ALIAS].vendor == "sqlite":
            TABLES["DummyNode"].objects.using(ALIAS).all().delete()

    def test_many_rows_in_parts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(apply, "BATCH", 2)
        have(*(node(n, n - 1 or None) for n in range(1, 8)))
        have(*(gone("DummyNode", n) for n in range(7, 0, -1)))
        assert parents() == {}


class TestReadCommits:
    def test_gives_the_rows_in_the_order_in_which_they_were_written(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Children are deleted before their parents, also where that takes several statements."""
        have(node(1), node(2, 1), node(3, 2))
        event = self._commits(*(gone("DummyNode", n) for n in (3, 2, 1)))
        first = COMMITS["DummyNode"].objects.using(ALIAS).filter(entity_id=3)
        kept = first.values()[0]
        first.delete()
        first.create(**kept)  # it lies behind the others now
        monkeypatch.setattr(apply, "BATCH", 1)
        have(*read_commit_rows(event, alias=ALIAS))
        assert parents() == {}

    def test_an_empty_row_means_that_it_is_gone(self) -> None:
        event = self._commits(item(1, "x"), gone("DummyItem", 2))
        changes = {change.id: change.after for change in read_commit_rows(event, alias=ALIAS)}
        assert changes == {1: named("x"), 2: None}

    def _commits(self, *changes: RowChange) -> int:
        event = AppEvent.objects.using(ALIAS).create(pk=1, date="2026-01-01T00:00:00Z", app_event_type_id=1)
        for change in changes:
            values = {
                column.attribute: None if change.after is None else change.after[column.name]
                for column in change.entity.columns
            }
            COMMITS[change.entity.name].objects.using(ALIAS).create(app_event=event, entity_id=change.id, **values)
        return event.pk
