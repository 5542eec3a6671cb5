from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from config.records.models import ChangeRecord
from sensors.models import Sensor
from tests.sensors.services.test_sheets import xlsx

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "sensors.csv"
    path.write_text("id,address\na,Here\nb,There\n")
    return path


class TestImportSensorsCommand:
    def test_says_what_it_did(self, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
        call_command("import_sensors", str(file))
        assert capsys.readouterr().out == "2 created, 0 changed, 0 unchanged\n"
        assert set(ChangeRecord.objects.values_list("actor", flat=True)) == {"command:import_sensors"}

    def test_without_a_terminal_there_is_no_bar(self, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
        call_command("import_sensors", str(file))
        assert capsys.readouterr().err == ""

    def test_with_a_terminal_there_is_one(
        self, file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("sys.stderr.isatty", lambda: True)
        call_command("import_sensors", str(file))
        assert "2/2" in capsys.readouterr().err

    def test_tries_without_doing(self, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
        call_command("import_sensors", str(file), "--dry-run")
        assert (capsys.readouterr().out, Sensor.objects.count()) == ("2 created, 0 changed, 0 unchanged\n", 0)

    def test_names_every_bad_line(self, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
        file.write_text("id,address\na-b,Here\nb,\n")
        with pytest.raises(CommandError):
            call_command("import_sensors", str(file))
        told = capsys.readouterr().err.splitlines()
        assert [line.split(":")[0] for line in told] == ["line 2", "line 3"]
        assert not Sensor.objects.exists()

    def test_skips_bad_lines_where_asked_and_names_them(self, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
        file.write_text("id,address\na,Here\nb,\nc,There\n")
        call_command("import_sensors", str(file), "--skip-bad")
        told = capsys.readouterr()
        assert told.out == "2 created, 0 changed, 0 unchanged\n"
        assert [line.split(":")[0] for line in told.err.splitlines()] == ["line 3"]

    def test_counts_the_bad_lines_that_it_does_not_name(
        self, file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("sensors.services.file_imports.BAD_LINES_NAMED", 2)
        file.write_text("id,address\n" + "a-b,Here\n" * 5)
        with pytest.raises(CommandError, match="5 lines have errors"):
            call_command("import_sensors", str(file))
        assert len(capsys.readouterr().err.splitlines()) == 2

    def test_takes_a_file_of_any_size(
        self, file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("sensors.services.sheets.MOST_ROWS", 1)
        monkeypatch.setattr("sensors.services.sheets.LARGEST_FILE", 10)
        call_command("import_sensors", str(file))
        assert capsys.readouterr().out == "2 created, 0 changed, 0 unchanged\n"

    def test_names_the_limits_of_a_workbook(self, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        file.write_bytes(xlsx(["id", "address"], ["a", "Here"], ["b", "Here"]))
        monkeypatch.setattr("sensors.services.sheets.MOST_ROWS", 1)
        with pytest.raises(CommandError, match="at most 1 rows"):
            call_command("import_sensors", str(file))
        monkeypatch.setattr("sensors.services.sheets.LARGEST_FILE", 10)
        with pytest.raises(CommandError, match="Larger than the maximum of 10 bytes"):
            call_command("import_sensors", str(file))

    @pytest.mark.parametrize(("content", "word"), [(None, "No such file"), (b"\xff", "UTF-8")])
    def test_a_file_that_cannot_be_read_is_one_line(self, tmp_path: Path, content: bytes | None, word: str) -> None:
        path = tmp_path / "other.csv"
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(CommandError, match=word):
            call_command("import_sensors", str(path))
