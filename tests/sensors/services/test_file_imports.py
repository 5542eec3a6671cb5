import io
import tracemalloc
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from config.records.models import ChangeRecord
from notifications.models import Event
from sensors.errors import BadLines, RegistryMoved
from sensors.models import Sensor, SensorState
from sensors.services import file_imports, imports
from sensors.services.file_imports import check_file, import_file
from sensors.services.imports import ImportReport
from sensors.services.sensors import update_sensor
from tests.sensors.registry import link, make_client, make_sensor
from tests.sensors.services.test_sheets import rows_of_csv, xlsx

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_imports, "PART", 2)


def file(*lines: str, header: str = "id,address") -> io.BufferedReader:
    return io.BufferedReader(io.BytesIO("\n".join([header, *lines]).encode()))


class TestImportFile:
    def test_registers_changes_and_leaves_alone_over_several_parts(self) -> None:
        client = make_client()
        make_sensor("changes", notes="kept")
        make_sensor("stays")
        link("changes", client)
        stream = file("new3,Here", "stays,1 Gate Street", "changes,There", "new1,Here", "new2,Here")
        assert import_file(stream, actor="anna") == ImportReport(created=3, changed=1, unchanged=1)
        changed = Sensor.objects.get(pk="changes")
        assert (changed.address, changed.notes, list(changed.clients.all())) == ("There", "kept", [client])
        assert SensorState.objects.count() == 5
        logged = ChangeRecord.objects.order_by("object_id").values_list("object_id", "action", "actor")
        assert list(logged) == [
            ("changes", "changed", "anna"),
            *((f"new{n}", "created", "anna") for n in (1, 2, 3)),
        ]
        assert Event.objects.count() == 4

    def test_a_second_time_changes_nothing(self) -> None:
        lines = ["a,Here", "b,Here", "c,Here"]
        import_file(file(*lines), actor="anna")
        assert import_file(file(*lines), actor="anna") == ImportReport(0, 0, 3)
        assert ChangeRecord.objects.count() == 3

    def test_takes_more_rows_than_a_call(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sensors.services.sheets.MOST_ROWS", 1)
        monkeypatch.setattr("sensors.services.sheets.LARGEST_FILE", 1)
        assert import_file(file("a,Here", "b,Here", "c,Here"), actor="anna").created == 3

    def test_takes_xlsx(self) -> None:
        content = xlsx(["id", "address"], ["a", "Here"], ["b", "Here"], ["c", "Here"])
        assert import_file(io.BufferedReader(io.BytesIO(content)), actor="anna").created == 3

    def test_tells_how_far_it_is(self) -> None:
        told: list[Any] = []
        lines = [f"s{n},Here" for n in range(5)]
        import_file(file(*lines), actor="anna", checked=told.append, progress=lambda *numbers: told.append(numbers))
        assert told == [2, 4, 5, (2, 5), (4, 5), (5, 5)]

    def test_locks_what_changes_in_one_statement_before_the_first_is_written(self) -> None:
        if connection.vendor != "postgresql":
            pytest.skip("SQLite has one writer")
        for name in "abcd":
            make_sensor(name)
        with CaptureQueriesContext(
            connection,
        ) as queries:
            import_file(file("d,Here", "b,Here", "a,Here", "c,1 Gate Street", "new,Here"), actor="anna")
        locks = [each["sql"] for each in queries if "FOR NO KEY UPDATE" in each["sql"]]
        assert "sensors_importid" in locks[0]
        assert len(locks) == 3

    @pytest.mark.slow
    def test_memory_does_not_grow_with_the_rows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(file_imports, "PART", 200)

        def peak(rows: int) -> int:
            tracemalloc.start()
            try:
                check_file(rows_of_csv(rows))
                return tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()

        peak(400)
        assert peak(8000) < peak(1000) + 200_000


class TestAllOrNothing:
    def test_a_failure_in_the_last_part_leaves_nothing(self) -> None:
        def fail(done: int, total: int) -> None:
            if done == total:
                raise RuntimeError("pulled the plug")

        with pytest.raises(RuntimeError):
            import_file(file(*(f"s{n},Here" for n in range(5))), actor="anna", progress=fail)
        assert (Sensor.objects.count(), ChangeRecord.objects.count(), Event.objects.count()) == (0, 0, 0)

    def test_a_bad_line_in_the_last_part_leaves_nothing(self) -> None:
        with pytest.raises(BadLines):
            import_file(file("a,Here", "b,Here", "c,"), actor="anna")
        assert not Sensor.objects.exists()

    def test_what_somebody_changes_after_the_check_is_kept(self) -> None:
        make_sensor("a")

        def change(rows: int) -> None:
            update_sensor(sensor_id="a", address="theirs", notes="theirs", actor="boris")

        import_file(file("a,ours"), actor="anna", checked=change)
        sensor = Sensor.objects.get()
        assert (sensor.address, sensor.notes) == ("ours", "theirs")

    def test_a_sensor_that_somebody_registers_while_it_is_written_is_a_conflict(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = imports.lock_changes

        def lock_while_another_registers(wanted: Any) -> Any:
            changes = real(wanted)
            if wanted[0][0] == "c":
                make_sensor("c")
            return changes

        monkeypatch.setattr(file_imports, "lock_changes", lock_while_another_registers)
        with pytest.raises(RegistryMoved):
            import_file(file("a,Here", "b,Here", "c,Here"), actor="anna")
        assert not Sensor.objects.filter(pk="a").exists()


class TestBadLines:
    def test_an_id_that_stands_in_two_parts_is_named_with_both_lines(self) -> None:
        with pytest.raises(BadLines) as error:
            import_file(file("a,Here", "b,Here", "c,Here", "d,Here", "a,There"), actor="anna")
        (fault,) = error.value.faults
        assert (fault.line, fault.field, fault.rule) == (6, "id", "Duplicate of line 2.")

    def test_a_hundred_are_named_and_all_are_counted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(file_imports, "BAD_LINES_NAMED", 3)
        with pytest.raises(BadLines) as error:
            check_file(file("a-1,", "ok,Here", "a-2,", "a-3,", "a-4,", "a-5,"))
        assert {fault.line for fault in error.value.faults} == {2, 4, 5}
        assert error.value.data["fields"] == {"file": ["5 lines have errors."]}

    def test_a_dry_run_changes_nothing(self) -> None:
        make_sensor("a")
        assert check_file(file("a,Here", "b,Here", "c,Here")) == ImportReport(2, 1, 0)
        assert (Sensor.objects.count(), ChangeRecord.objects.count()) == (1, 0)
