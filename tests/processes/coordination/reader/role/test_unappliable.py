"""What a reader's database will not take, for whatever reason: refused by itself, and the line goes on."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import OperationalError, connections
from psycopg import errors

from processes.coordination.coordinator.answers import WAITS
from processes.coordination.models import AppEvent, DummyItem, WriterEvent, WriterEventReader
from processes.coordination.protocol.reasons import format_reason
from processes.coordination.protocol.statuses import EventStatus as E
from processes.coordination.reader import apply, retries
from processes.coordination.reader.models import COMMITS, TABLES
from processes.coordination.writer.change_sets import AppliedChangeSet
from sensors.services.sensors import create_sensor
from tests.processes.coordination.in_memory_roles import (
    DATABASES,
    InMemoryRoles,
    let_time_pass,
    make_change_set,
    open_alert,
    request_change,
    status_of,
)

pytestmark = pytest.mark.django_db(databases=DATABASES)
READER = "reader_main"
FUNCTION = """CREATE OR REPLACE FUNCTION refuse_cursed() RETURNS trigger AS $$ BEGIN
  IF NEW.{column} = 'cursed' THEN RAISE EXCEPTION 'cursed be this row' USING ERRCODE = '{state}'; END IF;
  RETURN NEW; END $$ LANGUAGE plpgsql"""
TRIGGER = """CREATE TRIGGER refuse_cursed BEFORE INSERT OR UPDATE ON {table}
  FOR EACH ROW EXECUTE FUNCTION refuse_cursed()"""


@pytest.fixture
def roles() -> InMemoryRoles:
    roles = InMemoryRoles()
    roles.live()
    return roles


def curse(table: Any, *, state: str = "P0001", column: str = "name") -> None:
    """Let a table of the reader raise upon one row."""
    with connections[READER].cursor() as cursor:
        cursor.execute(FUNCTION.format(state=state, column=column))
        cursor.execute(TRIGGER.format(table=table._meta.db_table))


def lift(table: Any) -> None:
    with connections[READER].cursor() as cursor:
        cursor.execute(f"DROP TRIGGER refuse_cursed ON {table._meta.db_table}")


def make_item(name: str) -> AppliedChangeSet:
    return make_change_set(request_change("DummyItem", "insert", name=name))


def names_of_reader() -> set[str]:
    return set(TABLES["DummyItem"].objects.using(READER).values_list("name", flat=True))


class TestJudging:
    @pytest.mark.parametrize("state", ["P0001", "54000", "XX000", "42501"])
    @pytest.mark.parametrize("parallel", [1, 8])
    def test_a_trigger_that_raises_refuses_that_set_alone(
        self, roles: InMemoryRoles, settings: Any, state: str, parallel: int
    ) -> None:
        settings.COORDINATION_PARALLEL = parallel
        curse(TABLES["DummyItem"], state=state)
        events = [make_item(name).event for name in ("a", "cursed", "b")]
        roles.settle()
        assert [status_of(event) for event in events] == [E.COMMITTED, E.CANCELED, E.COMMITTED]
        assert format_reason(AppEvent.objects.get(pk=events[1]).reason) == "main: cursed be this row"
        assert names_of_reader() == {"a", "b"} == set(DummyItem.objects.values_list("name", flat=True))

    def test_an_unexpected_exception_is_a_refusal_too(
        self, roles: InMemoryRoles, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store = apply._store

        def fails(entity: Any, changes: Any, *, alias: str) -> None:
            if any(each.after["name"] == "cursed" for each in changes):
                raise TypeError("no such thing")
            store(entity, changes, alias=alias)

        monkeypatch.setattr(apply, "_store", fails)
        events = [make_item(name).event for name in ("cursed", "b")]
        roles.settle()
        assert [status_of(event) for event in events] == [E.CANCELED, E.COMMITTED]
        assert format_reason(AppEvent.objects.get(pk=events[0]).reason) == "main: no such thing"

    def test_rows_that_cannot_be_kept_for_the_commit_are_a_refusal(self, roles: InMemoryRoles, settings: Any) -> None:
        settings.COORDINATION_PARALLEL = 8
        curse(COMMITS["DummyItem"])
        events = [make_item(name).event for name in ("a", "cursed", "b")]
        roles.settle()
        assert [status_of(event) for event in events] == [E.COMMITTED, E.CANCELED, E.COMMITTED]

    def test_a_payload_that_cannot_even_be_kept_is_a_refusal(self, roles: InMemoryRoles) -> None:
        from processes.coordination.reader.models import AppEventPayload

        cursed = make_item("cursed").event
        content = AppEvent.objects.get(pk=cursed).payloads.get().content
        with connections[READER].cursor() as cursor:
            body = FUNCTION.format(state="P0001", column="content").replace("'cursed'", "%s")
            cursor.execute(body, [content])
            cursor.execute(TRIGGER.format(table=AppEventPayload._meta.db_table))
        other = make_item("b").event
        roles.settle()
        assert [status_of(event) for event in (cursed, other)] == [E.CANCELED, E.COMMITTED]
        assert format_reason(AppEvent.objects.get(pk=cursed).reason) == "main: cursed be this row"

    def test_of_the_registry_waits_with_the_real_reason(self, roles: InMemoryRoles) -> None:
        curse(TABLES["Sensor"], column="address")
        create_sensor(sensor_id="0xA", actor="test", address="cursed")
        other = make_item("b").event
        roles.settle(lambda: status_of(other) == E.COMMITTED)
        alert = open_alert(WAITS)
        assert alert is not None
        assert "cursed be this row" in str(alert)


class TestBusy:
    """A deadlock or a lock is no refusal: it is tried again, a few times, and nobody else waits for it."""

    @pytest.fixture(autouse=True)
    def at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(retries, "FIRST_REST", 0.0)

    @pytest.mark.parametrize("state", ["40P01", "40001", "55P03", "57014"])
    def test_that_passes_commits(self, roles: InMemoryRoles, state: str) -> None:
        curse(TABLES["DummyItem"], state=state)
        event = make_item("cursed").event
        roles.settle(lambda: bool(roles.reader._busy_retries))
        lift(TABLES["DummyItem"])
        roles.settle()
        assert status_of(event) == E.COMMITTED

    def test_that_never_passes_is_refused_with_its_reason_and_others_go_on(
        self, roles: InMemoryRoles, settings: Any
    ) -> None:
        settings.COORDINATION_PARALLEL = 8
        curse(TABLES["DummyItem"], state="40P01")
        events = [make_item(name).event for name in ("a", "cursed", "b")]
        roles.settle()
        assert [status_of(event) for event in events] == [E.COMMITTED, E.CANCELED, E.COMMITTED]
        assert format_reason(AppEvent.objects.get(pk=events[1]).reason) == "main: cursed be this row"
        assert not roles.reader._busy_retries

    def test_a_database_that_is_away_is_no_refusal(self, roles: InMemoryRoles, monkeypatch: pytest.MonkeyPatch) -> None:
        event = make_item("a").event

        def away(*args: Any, **kwargs: Any) -> None:
            raise OperationalError("server closed the connection") from errors.AdminShutdown()

        with monkeypatch.context() as patched:
            patched.setattr(apply, "_store", away)
            with pytest.raises(OperationalError):
                roles.settle()
        roles.settle()
        assert status_of(event) == E.COMMITTED


class TestCommit:
    """All have agreed, and then one cannot apply it: never cancelled, tried again, and the others go on."""

    @contextmanager
    def _cursed_at_commit(self, roles: InMemoryRoles) -> Iterator[AppliedChangeSet]:
        made = make_item("cursed")
        roles.settle(WriterEvent.objects.filter(pk=made.event, app_event_status_id=E.COMMITTING).exists)
        curse(TABLES["DummyItem"])
        yield made

    def test_is_tried_again_until_it_can_and_innocents_go_on(self, roles: InMemoryRoles) -> None:
        with self._cursed_at_commit(roles) as made:
            other = make_item("b").event
            of_same_row = make_change_set(request_change("DummyItem", "update", made.ids[0], name="c")).event
            roles.settle(lambda: status_of(other) == E.COMMITTED)
            roles.rest()
            assert WriterEvent.objects.get(pk=made.event).status == E.COMMITTING
            assert WriterEvent.objects.get(pk=of_same_row).status == E.SAVED
            lift(TABLES["DummyItem"])
            let_time_pass()
            roles.settle()
        assert [status_of(event) for event in (made.event, other, of_same_row)] == [E.COMMITTED] * 3
        assert names_of_reader() == {"b", "c"}
        assert open_alert(WAITS) is None

    def test_is_visible_with_its_reason(self, roles: InMemoryRoles) -> None:
        with self._cursed_at_commit(roles) as made:
            for _ in range(3):
                roles.rest()
                let_time_pass()
        row = WriterEventReader.objects.get(writer_event=made.event)
        assert (row.verdict, row.reason) == ("refused", "cursed be this row")
        assert WriterEvent.objects.get(pk=made.event).is_waiting
        alert = open_alert(WAITS)
        assert alert is not None
        assert (alert.count, alert.detail["reason"]) == (1, "cursed be this row")
        lift(TABLES["DummyItem"])
        let_time_pass()
        roles.settle()
        row.refresh_from_db()
        assert (row.verdict, row.reason) == ("committed", "")
