import os
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from config.records.models import ChangeRecord
from notifications.models import Delivery, Event
from sensors.errors import BadLines, RegistryMoved
from sensors.models import Sensor, SensorState
from sensors.selectors import SensorFilter
from sensors.services import imports
from sensors.services.exports import export_sensors
from sensors.services.imports import ImportReport, import_good_lines, import_sensors, list_refused, plan_import
from sensors.services.sensors import update_sensor
from sensors.services.sheets import write_csv
from tests.sensors.registry import link, make_client, make_delivery, make_sensor
from tests.sensors.services.test_sheets import xlsx

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

HEADER = "id,address,notes,active,heartbeat_timeout,clients\n"


def table(*lines: str) -> bytes:
    return (HEADER + "".join(f"{line}\n" for line in lines)).encode()


class TestImportSensors:
    def test_registers_changes_and_leaves_alone(self) -> None:
        client = make_client()
        for sensor_id in ("changes", "stays"):
            make_sensor(sensor_id)
            link(sensor_id, client)
        report = import_sensors(
            content=table(
                f"new,Here,first,no,60,{client.pk}",
                f"changes,Elsewhere,,,,{client.pk}",
                f"stays,1 Gate Street,,true,3600,{client.pk}",
            ),
            actor="anna",
        )
        assert report == ImportReport(created=1, changed=1, unchanged=1)
        new = Sensor.objects.get(pk="new")
        assert (new.address, new.notes, new.active, new.heartbeat_timeout) == ("Here", "first", False, 60)
        assert list(new.clients.all()) == [client]
        assert SensorState.objects.count() == 3
        changes = ChangeRecord.objects.order_by("object_id").values_list("object_id", "action", "actor")
        assert list(changes) == [("changes", "changed", "anna"), ("new", "created", "anna")]
        assert Event.objects.count() == 2

    def test_a_missing_column_leaves_what_is_there(self) -> None:
        client = make_client()
        make_sensor("0xA", notes="old", active=False)
        link("0xA", client)
        import_sensors(content=b"id,address\n0xA,Here\n", actor="anna")
        sensor = Sensor.objects.get()
        assert (sensor.address, sensor.notes, sensor.active, sensor.clients.count()) == ("Here", "old", False, 1)

    def test_an_empty_cell_of_clients_unlinks_and_cancels(self) -> None:
        client = make_client()
        make_sensor("0xA")
        link("0xA", client)
        make_delivery("0xA", client)
        import_sensors(content=b"id,clients\n0xA,\n", actor="anna")
        assert (Sensor.objects.get().clients.count(), Delivery.objects.get().status) == (0, "cancelled")

    @pytest.mark.parametrize("separator", [" ", ";", "; "])
    def test_takes_clients_separated_by_spaces_or_semicolons(self, separator: str) -> None:
        one, two = make_client("one"), make_client("two")
        import_sensors(content=table(f"a,Here,,,,{one.pk}{separator}{two.pk}"), actor="anna")
        assert set(Sensor.objects.get().clients.all()) == {one, two}

    @pytest.mark.parametrize("cell", ["Night watch;{two}", " Night watch ; {two} ;", "{two};Night watch;Night watch"])
    def test_takes_clients_by_name_beside_ids(self, cell: str) -> None:
        one, two = make_client("Night watch"), make_client("two")
        import_sensors(content=table(f"a,Here,,,,{cell.format(two=two.pk)}"), actor="anna")
        assert set(Sensor.objects.get().clients.all()) == {one, two}

    def test_takes_xlsx(self) -> None:
        content = xlsx(["id", "address", "active", "heartbeat_timeout"], ["a", "Здесь", False, 60])
        assert import_sensors(content=content, actor="anna").created == 1
        assert Sensor.objects.get().address == "Здесь"

    def test_a_second_time_changes_nothing(self) -> None:
        content = table("a,Here,'=1,yes,60,", "b,There,,no,,")
        import_sensors(content=content, actor="anna")
        assert import_sensors(content=content, actor="anna") == ImportReport(0, 0, 2)
        assert ChangeRecord.objects.count() == 2

    def test_tells_how_far_it_is(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sensors.services.changes.BATCH", 2)
        told: list[tuple[int, int]] = []
        content = table(*(f"s{n},Here,,,," for n in range(5)))
        import_sensors(content=content, actor="anna", progress=lambda done, total: told.append((done, total)))
        assert told == [(2, 5), (4, 5), (5, 5)]

    def test_costs_few_statements(self, django_assert_max_num_queries: Any) -> None:
        client = make_client()
        content = table(*(f"s{n},Here,,,,{client.pk}" for n in range(1000)))
        with django_assert_max_num_queries(15):
            import_sensors(content=content, actor="anna")


class TestBadLines:
    @pytest.mark.parametrize(
        ("line", "field"),
        [
            ("a-b,Here,,,,", "id"),
            (",Here,,,,", "id"),
            ("export,Here,,,,", "id"),
            ("good,Here,,,,", "id"),
            ("a,,,,,", "address"),
            (f"a,{'x' * 501},,,,", "address"),
            ("a,Here,,perhaps,,", "active"),
            ("a,Here,,,0,", "heartbeat_timeout"),
            ("a,Here,,,an hour,", "heartbeat_timeout"),
            ("a,Here,,,9999999,", "heartbeat_timeout"),
            ("a,Here,,,,4711", "clients"),
            ("a,Here,,,,watch", "clients"),
            ("a,Here,,,,twice", "clients"),
            ("a,Here,,,,TWICE 1", "clients"),
            (f"a,Here,,,,{'x' * 201}", "clients"),
            ("a,Here,,,,\x00", "clients"),
            ("a,Here,,,,,more", "line"),
        ],
    )
    def test_is_named_by_number_field_and_rule_and_nothing_is_imported(self, line: str, field: str) -> None:
        for _ in range(2):
            make_client("twice")
        with pytest.raises(BadLines) as error:
            import_sensors(content=table("good,Here,,,,", line), actor="anna")
        (bad,) = error.value.data["lines"]
        assert (bad["line"], bad["field"], bool(bad["rule"])) == (3, field, True)
        assert not Sensor.objects.exists()

    def test_a_line_that_ends_before_the_id_is_one(self) -> None:
        plan = plan_import(b"address,id\nHere\n")
        assert [(fault.line, fault.field) for fault in plan.faults] == [(2, "id")]

    def test_every_one_is_named_in_the_order_of_the_file(self) -> None:
        plan = plan_import(table("a-b,,,perhaps,,", "good,Here,,,,", "b,,,,,", "c-d,,,,,"))
        assert [(fault.line, fault.field) for fault in plan.faults] == [
            (2, "address"),
            (2, "active"),
            (2, "id"),
            (4, "address"),
            (5, "address"),
            (5, "id"),
        ]


class TestImportGoodLines:
    def test_leaves_the_bad_lines_out_and_returns_them(self) -> None:
        report, plan = import_good_lines(content=table("a,Here,,,,", "b,,,,,", "c,Here,,,,nobody"), actor="anna")
        assert report == ImportReport(created=1, changed=0, unchanged=0)
        assert (plan.bad, [fault.line for fault in plan.faults]) == (2, [3, 4])
        assert [sensor.pk for sensor in Sensor.objects.all()] == ["a"]

    def test_a_second_time_changes_nothing(self) -> None:
        content = table("a,Here,,,,", "b,,,,,")
        import_good_lines(content=content, actor="anna")
        assert import_good_lines(content=content, actor="anna")[0] == ImportReport(0, 0, 1)
        assert ChangeRecord.objects.count() == 1

    def test_refused_lines_are_a_table_that_is_mended_and_imported(self) -> None:
        content = table("a,Here,,,,", '=b,"There, left",,perhaps,,')
        refused = write_csv(list_refused(content, plan_import(content)))
        assert refused.decode().splitlines()[1].startswith("3,")
        mended = refused.replace(b"'=b", b"b").replace(b"perhaps", b"no")
        assert import_sensors(content=mended, actor="anna") == ImportReport(1, 0, 0)
        assert Sensor.objects.get().address == "There, left"


class TestHalfImportedNever:
    def test_a_failure_in_the_last_batch_leaves_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sensors.services.changes.BATCH", 2)

        def fail(done: int, total: int) -> None:
            if done == total:
                raise RuntimeError("pulled the plug")

        with pytest.raises(RuntimeError):
            import_sensors(content=table(*(f"s{n},Here,,,," for n in range(5))), actor="anna", progress=fail)
        assert (Sensor.objects.count(), ChangeRecord.objects.count(), Event.objects.count()) == (0, 0, 0)

    def test_what_somebody_changes_meanwhile_is_kept(self, monkeypatch: pytest.MonkeyPatch) -> None:
        make_sensor("a")
        real = imports.plan_import

        def plan_while_another_writes(content: bytes) -> Any:
            plan = real(content)
            update_sensor(sensor_id="a", address="theirs", notes="theirs", actor="boris")
            return plan

        monkeypatch.setattr(imports, "plan_import", plan_while_another_writes)
        import_sensors(content=b"id,address\na,ours\n", actor="anna")
        sensor = Sensor.objects.get()
        assert (sensor.address, sensor.notes) == ("ours", "theirs")

    def test_a_sensor_that_somebody_registers_meanwhile_is_changed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        real = imports.plan_import

        def plan_while_another_writes(content: bytes) -> Any:
            plan = real(content)
            make_sensor("a", notes="theirs")
            return plan

        monkeypatch.setattr(imports, "plan_import", plan_while_another_writes)
        assert import_sensors(content=b"id,address\na,ours\n", actor="anna") == ImportReport(0, 1, 0)

    @pytest.mark.django_db(transaction=True)
    def test_two_at_once_of_the_same_sensors_never_mix(self, in_threads: Callable[..., list[bool]]) -> None:
        ids = [f"s{n}" for n in range(40)]

        def run(number: int) -> bool:
            lines = [f"{sensor_id},Street {number},,,," for sensor_id in ids[:: 1 if number % 2 else -1]]
            try:
                import_sensors(content=table(*lines), actor=str(number))
            except RegistryMoved:
                return False
            return True

        assert any(in_threads(run, 4))
        assert len(set(Sensor.objects.values_list("address", flat=True))) == 1
        assert Sensor.objects.count() == SensorState.objects.count() == 40


class TestOpenLimit:
    def test_a_table_sets_and_takes_away_limits(self) -> None:
        make_sensor("a", open_limit=60)
        make_sensor("b")
        make_sensor("c", open_limit=60)
        import_sensors(content=b"id,open_limit\na,\nb,600\n", actor="anna")
        import_sensors(content=b"id,address\nc,there\n", actor="anna")
        limits = Sensor.objects.order_by("pk").values_list("open_limit", flat=True)
        assert list(limits) == [None, 600, 60], "without the column a limit stays"

    @pytest.mark.parametrize("limit", ["0", "long", "2592001", "-1"])
    def test_a_wrong_one_is_named(self, limit: str) -> None:
        plan = plan_import(f"id,address,open_limit\na,here,{limit}\n".encode())
        assert [fault.field for fault in plan.faults] == ["open_limit"]

    def test_comes_back_from_the_export_where_a_sensor_has_one(self) -> None:
        make_sensor("a", open_limit=60)
        make_sensor("b")
        content = b"".join(export_sensors(SensorFilter()))
        assert content.splitlines()[0].endswith(b",clients,open_limit")
        Sensor.objects.all().delete()
        import_sensors(content=content, actor="anna")
        assert b"".join(export_sensors(SensorFilter())) == content


class TestExport:
    def test_comes_back_as_it_was(self) -> None:
        one, two = make_client("one"), make_client("two")
        make_sensor("a", address="=cmd|' /C calc'!A0", notes="@home", active=False)
        make_sensor("b", address="'=quoted", notes='say "x",\nplease', heartbeat_timeout=60)
        for client in (one, two):
            link("a", client)
        content = b"".join(export_sensors(SensorFilter()))
        assert b"'=cmd|" in content
        assert f",{one.pk} {two.pk}\r\n".encode() in content
        assert import_sensors(content=content, actor="anna") == ImportReport(0, 0, 2)
        Sensor.objects.all().delete()
        import_sensors(content=content, actor="anna")
        assert b"".join(export_sensors(SensorFilter())) == content

    def test_is_read_piece_by_piece(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sensors.services.exports.ROWS_AT_ONCE", 2)
        for n in range(5):
            make_sensor(f"s{n}")
        pieces = list(export_sensors(SensorFilter()))
        assert len(pieces) == 4
        assert [line[:2] for line in b"".join(pieces).decode().splitlines()[1:]] == [f"s{n}" for n in range(5)]

    def test_keeps_to_the_filter(self) -> None:
        make_sensor("a")
        make_sensor("b", active=False)
        assert b"".join(export_sensors(SensorFilter(active=True))).count(b"\r\n") == 2


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_large_table_is_one_import() -> None:
    rows = 100_000 if float(os.environ.get("DRILL_SCALE", "0.02")) >= 1 else 20_000
    client = make_client()
    content = table(*(f"s{n},Here {n},,,,{client.pk}" for n in range(rows)))
    assert import_sensors(content=content, actor="anna") == ImportReport(rows, 0, 0)
    assert Sensor.objects.count() == ChangeRecord.objects.count() == Event.objects.count() == rows


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite plans no checks of foreign keys")
def test_foreign_keys_of_a_large_import_are_looked_up_by_index() -> None:
    """A connection that has registered a few sensors keeps a plan for a table of one page."""
    client = make_client()
    with connection.cursor() as cursor:
        make_sensor("first")
        cursor.execute("ANALYZE sensors_sensor")
        for n in range(10):
            import_sensors(content=table(f"few{n},Here,,,,{client.pk}"), actor="anna")
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")
        import_sensors(content=table(*(f"s{n},Here,,,,{client.pk}" for n in range(2000))), actor="anna")
        before = _whole_reads(cursor)
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        assert _whole_reads(cursor) - before < 100


def _whole_reads(cursor: Any) -> int:
    """Return how often the transaction has read the whole table of sensors."""
    cursor.execute("SELECT seq_scan FROM pg_stat_xact_user_tables WHERE relname = 'sensors_sensor'")
    return int(cursor.fetchone()[0])
