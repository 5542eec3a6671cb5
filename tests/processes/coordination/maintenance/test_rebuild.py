"""A reader filled from nothing: what was committed is there, what is under way comes again, nothing comes twice."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connections, transaction

from processes.coordination.maintenance import rebuild
from processes.coordination.maintenance.rebuild import build_new_reader, rebuild_reader
from processes.coordination.maintenance.snapshot import consistent_read
from processes.coordination.models import AppEventPayload, WriterEvent
from processes.coordination.models.writer import TABLES
from processes.coordination.protocol.statuses import EventStatus
from processes.coordination.reader import models as reader
from sensors.services.clients import create_client
from sensors.services.sensors import create_sensor, update_sensor
from tests.faults.wait import wait_until
from tests.processes.coordination.in_memory_roles import (
    DATABASES,
    InMemoryRoles,
    make_change_set,
    request_change,
    rows_of,
    status_of,
)

pytestmark = pytest.mark.django_db(databases=DATABASES)


def theirs(name: str) -> dict[int, dict[str, object]]:
    return rows_of(reader.TABLES[name], using="reader_main")


def ours(name: str) -> dict[int, dict[str, object]]:
    return rows_of(TABLES[name], using="default")


def lose() -> None:
    """The reader's database is another one, with nothing in it."""
    for table in (*reader.COMMITS.values(), *reader.ROLLBACKS.values(), reader.AppEventPayload, reader.AppEvent):
        table.objects.using("reader_main").all()._raw_delete("reader_main")
    for table in reversed(list(reader.TABLES.values())):
        table.objects.using("reader_main").all()._raw_delete("reader_main")


class TestRebuildReader:
    def test_brings_back_what_was_committed(self) -> None:
        roles = InMemoryRoles()
        top = make_change_set(request_change("DummyNode", "insert", name="top")).ids[0]
        make_change_set(*(request_change("DummyNode", "insert", name=f"n{n}", parent=top) for n in range(5)))
        roles.settle()
        lose()
        assert rebuild_reader("main")["DummyNode"] == 6
        assert theirs("DummyNode") == ours("DummyNode")

    @pytest.mark.embedded
    def test_leaves_out_what_is_under_way_and_has_it_in_the_end(self) -> None:
        roles = InMemoryRoles()
        row = make_change_set(request_change("DummyItem", "insert", name="old")).ids[0]
        roles.settle()
        made = make_change_set(
            request_change("DummyItem", "update", row, name="new"), request_change("DummyItem", "insert", name="more")
        )
        roles.writer.run_once()
        rebuild_reader("main")
        assert [each["name"] for each in theirs("DummyItem").values()] == ["old"]
        roles.settle()
        assert status_of(made.event) == EventStatus.COMMITTED
        assert theirs("DummyItem") == ours("DummyItem")

    @pytest.mark.embedded
    @pytest.mark.parametrize("content", ["{", '{"entity": "Stranger", "id": 1}', '{"entity": "DummyItem", "id": 1}'])
    def test_a_payload_that_nobody_can_read_holds_up_nothing(self, content: str) -> None:
        roles = InMemoryRoles()
        make_change_set(request_change("DummyItem", "insert", name="committed"))
        roles.settle()
        made = make_change_set(
            request_change("DummyItem", "insert", name="new"), request_change("DummyItem", "insert", name="other")
        )
        first = AppEventPayload.objects.filter(app_event=made.event).earliest("pk")
        AppEventPayload.objects.filter(pk=first.pk).update(content=content)
        rebuild_reader("main")
        found = [each["name"] for each in theirs("DummyItem").values()]
        assert found == ["committed", "new"], "of the unreadable one the Writer's row stands, the other is left out"

    @pytest.mark.parametrize("turns", range(2, 12, 2))
    def test_at_any_moment_of_an_event_both_sides_end_equal(self, turns: int) -> None:
        roles = InMemoryRoles()
        row = make_change_set(request_change("DummyItem", "insert", name="old")).ids[0]
        roles.settle()
        make_change_set(
            request_change("DummyItem", "update", row, name="new"), request_change("DummyItem", "insert", name="more")
        )
        make_change_set(request_change("DummyItem", "delete", row))
        for _ in range(turns):
            for role in roles.all:
                role.run_once()
        rebuild_reader("main")
        roles.settle_by_repeats()
        assert theirs("DummyItem") == ours("DummyItem")

    def test_a_row_deleted_by_an_event_under_way_is_still_there(self) -> None:
        roles = InMemoryRoles()
        row = make_change_set(request_change("DummyItem", "insert", name="old")).ids[0]
        roles.settle()
        make_change_set(request_change("DummyItem", "delete", row))
        rebuild_reader("main")
        assert list(theirs("DummyItem")) == [row]

    def test_rows_that_a_failed_compensation_left_are_not_given_to_readers(self) -> None:
        roles = InMemoryRoles()
        made = make_change_set(
            request_change("DummyItem", "insert", name="a"), request_change("DummyItem", "insert", name="b")
        )
        reader.TABLES["DummyItem"].objects.using("reader_main").create(
            id=made.ids[0], name="x", correlation_id="00000000-0000-0000-0000-000000000001"
        )
        later = make_change_set(request_change("DummyItem", "update", made.ids[0], name="c"))
        roles.settle(lambda: status_of(later.event) == EventStatus.COMMITTED)
        assert status_of(made.event) == EventStatus.COMPENSATION_FAILED
        rebuild_reader("main")
        assert {pk: row["name"] for pk, row in theirs("DummyItem").items()} == {made.ids[0]: "c"}

    @pytest.mark.embedded
    def test_has_the_registry_as_it_was_committed(self) -> None:
        roles = InMemoryRoles()
        client = create_client(actor="test", name="c", url="https://example.com/").client_id
        create_sensor(sensor_id="S1", actor="test", address="here", clients=[client])
        roles.settle()
        update_sensor(sensor_id="S1", actor="test", address="there", clients=[])
        lose()
        rebuild_reader("main")
        sensors = reader.TABLES["Sensor"].objects.using("reader_main")
        assert list(sensors.values_list("pk", "address")) == [("S1", "here")]
        assert reader.TABLES["SensorLink"].objects.using("reader_main").count() == 1
        roles.settle()
        assert list(sensors.values_list("pk", "address")) == [("S1", "there")]
        assert reader.TABLES["SensorLink"].objects.using("reader_main").count() == 0

    def test_a_lost_event_that_is_being_committed_is_told_anew(self) -> None:
        """Without any rebuilding: the reader says that it does not know the event, and is told everything."""
        roles = InMemoryRoles()
        made = make_change_set(request_change("DummyItem", "insert", name="a"))
        roles.settle(lambda: WriterEvent.objects.filter(app_event_status_id=EventStatus.COMMITTING.value).exists())
        lose()
        roles.settle()
        assert status_of(made.event) == EventStatus.COMMITTED
        assert theirs("DummyItem") == ours("DummyItem")


@pytest.mark.embedded
@pytest.mark.django_db(databases=DATABASES, transaction=True)
class TestOneState:
    def test_others_write_meanwhile_and_are_not_seen(self, in_threads: Callable[..., list[Any]]) -> None:
        make_change_set(request_change("DummyItem", "insert", name="seen"))
        with consistent_read():
            before = list(ours("DummyItem").values())
            in_threads(lambda number: make_change_set(request_change("DummyItem", "insert", name="unseen")), 1)
            assert list(ours("DummyItem").values()) == before
        assert len(ours("DummyItem")) == 2


@pytest.mark.slow
@pytest.mark.django_db(databases=DATABASES, transaction=True)
class TestDeadlock:
    """A role marks rows as sent in its own order, without the lock of the state."""

    @pytest.fixture
    def rows(self) -> list[int]:
        """Events of the reader, in the order in which a rebuild deletes them."""
        for name in "ab":
            make_change_set(request_change("DummyItem", "insert", name=name))
        InMemoryRoles().settle()
        return list(reader.AppEventPayload.objects.using("reader_main").order_by("pk").values_list("pk", flat=True))

    def test_rebuild_that_falls_victim_is_done_again(self, rows: list[int]) -> None:
        first, last = rows
        payloads = reader.AppEventPayload.objects.using("reader_main")
        with ThreadPoolExecutor(1) as threads:
            with transaction.atomic(using="reader_main"), connections["reader_main"].cursor() as cursor:
                cursor.execute("SET LOCAL deadlock_timeout = '10min'")  # the other one looks for the deadlock
                payloads.filter(pk=last).update(is_published=True)
                rebuilding = threads.submit(self.rebuild)
                assert wait_until(lambda: self.is_waiting(cursor), 60)
                payloads.filter(pk=first).update(is_published=True)
            assert rebuilding.result(60)["DummyItem"] == 2
        assert not payloads.exists()

    def test_one_that_is_always_the_victim_gives_up(self, monkeypatch: pytest.MonkeyPatch) -> None:
        tries = []

        def fall_victim(alias: str, progress: Any) -> dict[str, int]:
            tries.append(alias)
            raise OperationalError from psycopg.errors.DeadlockDetected()

        monkeypatch.setattr(rebuild, "_refill", fall_victim)
        with pytest.raises(OperationalError):
            rebuild_reader("main")
        assert len(tries) == rebuild.TRIES

    def rebuild(self) -> dict[str, int]:
        try:
            with connections["reader_main"].cursor() as cursor:
                cursor.execute("SET deadlock_timeout = '5s'")  # by then the other one has asked for its row
            return rebuild_reader("main")
        finally:
            connections.close_all()

    def is_waiting(self, cursor: Any) -> bool:
        # Not `pg_stat_activity`, which stays as it is for the length of a transaction.
        cursor.execute("SELECT count(*) FROM pg_locks WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))")
        return bool(cursor.fetchone()[0])


class TestBuildNewReader:
    def test_fills_one_that_never_was_and_leaves_others_alone(self) -> None:
        said: list[str] = []
        create_sensor(sensor_id="S1", actor="test", address="here")
        InMemoryRoles().settle()
        lose()
        build_new_reader("main", said.append)
        lose()
        build_new_reader("main", said.append)
        assert said == ["Reader main has 1 rows."]


@pytest.mark.embedded
class TestCommand:
    def test_says_what_the_reader_has(self, capsys: pytest.CaptureFixture[str]) -> None:
        make_change_set(request_change("DummyItem", "insert", name="a"))
        InMemoryRoles().settle()
        call_command("rebuild_reader", "main")
        assert "1 DummyItem" in capsys.readouterr().out

    def test_names_the_readers_there_are(self) -> None:
        with pytest.raises(CommandError, match="there are main"):
            call_command("rebuild_reader", "other")
