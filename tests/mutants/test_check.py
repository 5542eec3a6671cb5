"""The check of the table (`make check` runs it) can fail in each of its ways."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.mutants import mechanisms
from tests.mutants.check import find_missing_tests, find_outdated_rows, find_unproved
from tests.mutants.mechanisms import Mechanism, find_in_file
from tests.mutants.mutant import ROOT, Change, Engine, mutant
from tests.mutants.table import MUTANTS

LEASES = "config/common/database/leases.py"
ROW = mutant(
    "a row",
    why="of this test",
    taken_away="nothing",
    path=LEASES,
    text="raise LeaseLost(",
    instead="print(",
    noticed_by="tests/config/common/database/test_leases.py::TestFinish",
)


def test_has_many_rows_of_every_system() -> None:
    systems = {change.path.partition("/")[0] for row in MUTANTS for change in row.changes}
    assert systems == {"config", "sensors", "notifications", "messaging", "processes"}
    assert len(MUTANTS) >= 100


class TestOutdatedRows:
    @pytest.mark.parametrize(
        ("text", "instead"), [("no such text", ""), ("import ", "x"), ("raise LeaseLost(", "raise LeaseLost(")]
    )
    def test_a_text_stands_there_once_and_is_changed(self, text: str, instead: str) -> None:
        row = replace(ROW, changes=(Change(LEASES, text, instead),))
        assert len(list(find_outdated_rows([row]))) == 1

    def test_a_file_that_is_gone_is_named(self) -> None:
        row = replace(ROW, changes=(Change("config/gone.py", "x", ""),))
        assert "config/gone.py" in next(find_outdated_rows([row]))

    def test_two_rows_have_two_names(self) -> None:
        assert list(find_outdated_rows([ROW, ROW])) == ["a row: 2 rows have this name"]


@pytest.mark.parametrize("test", ["tests/gone.py", f"{ROW.noticed_by[0]}::test_gone", "tests/gone.py::test_gone"])
def test_a_test_that_does_not_exist_is_named(test: str) -> None:
    assert test in next(find_missing_tests([replace(ROW, noticed_by=(test,))]))
    assert list(find_missing_tests([ROW])) == []


class TestUnproved:
    MECHANISM = Mechanism(LEASES, "finish", "fence", (80, 80))

    def test_a_new_one_fails_the_check(self) -> None:
        (problem,) = find_unproved([self.MECHANISM], [], {})
        assert problem.startswith(f"{LEASES}::finish fence: give it a row")

    def test_a_row_that_takes_it_away_is_enough_and_so_is_a_reason(self) -> None:
        source = (ROOT / LEASES).read_text()
        line = source[: source.index("raise LeaseLost(")].count("\n") + 1
        touched = replace(self.MECHANISM, lines=(line, line))
        assert list(find_unproved([touched], [ROW], {})) == []
        assert list(find_unproved([self.MECHANISM], [], {"why": (self.MECHANISM.name,)})) == []
        assert list(find_unproved([self.MECHANISM], [replace(ROW, proves=(self.MECHANISM.name,))], {})) == []

    def test_a_reason_for_nothing_or_beside_a_row_is_named(self) -> None:
        assert "not there any more" in next(find_unproved([], [], {"why": ("gone.py lock",)}))
        proved = replace(ROW, proves=(self.MECHANISM.name,))
        assert "needs no reason" in next(find_unproved([self.MECHANISM], [proved], {"why": (self.MECHANISM.name,)}))


class TestFindInFile:
    @pytest.mark.parametrize(
        ("source", "mark"),
        [
            ("def f(rows):\n    return rows.select_for_update().first()\n", "f lock"),
            ("def f(rows):\n    rows.filter(fence=1).delete()\n", "f fence"),
            ("class C:\n    def f(self, row):\n        row.fence += 1\n", "C.f fence"),
            ("from config.common.database.leases import finish\ndef f(row):\n    finish(row)\n", "f lease"),
            ("def f(channel):\n    channel.basic_ack(1)\n", "f acknowledgement"),
            ("import os\ndef f(descriptor):\n    os.fsync(descriptor)\n", "f sync"),
            ("def f(rows):\n    rows.bulk_create([], ignore_conflicts=True)\n", "f once"),
            ("class M:\n    x = [UniqueConstraint(name='once_only', fields=['a'])]\n", "once_only once"),
            ("SQL = 'SELECT 1 FOR NO KEY UPDATE'\n", " lock"),
        ],
    )
    def test_knows_the_marks(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, mark: str) -> None:
        monkeypatch.setattr(mechanisms, "ROOT", tmp_path)
        file = tmp_path / "module.py"
        file.write_text(source)
        place = mark.rpartition(" ")[0]
        (found,) = find_in_file(file)
        assert found.name == f"module.py{'::' if place else ''}{place} {mark.rpartition(' ')[2]}"

    def test_knows_the_marks_of_statements(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(mechanisms, "ROOT", tmp_path)
        file = tmp_path / "write.postgresql.sql"
        file.write_text(
            "INSERT INTO a VALUES (1)\nON CONFLICT DO NOTHING;\nSELECT 1 FOR UPDATE;\nSET fence = fence + 1\n"
        )
        assert sorted(found.name.rpartition(" ")[2] for found in find_in_file(file)) == ["fence", "lock", "once"]

    def test_what_is_no_mechanism_is_none(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(mechanisms, "ROOT", tmp_path)
        file = tmp_path / "module.py"
        file.write_text("def f(rows):\n    finish(rows)\n    return rows.filter(pk=1)\n")
        assert list(find_in_file(file)) == []


def test_rows_for_tables_need_their_own() -> None:
    assert not ROW.needs_own_tables
    assert replace(ROW, changes=(Change("sensors/migrations/0001_x.py", "a", "b"),)).needs_own_tables
    assert ROW.engine is Engine.SQLITE
