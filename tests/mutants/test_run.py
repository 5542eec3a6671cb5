"""One row of the table, always the same: `make mutants` runs all of them."""

from pathlib import Path

import pytest

from tests.mutants.laboratory import Laboratory
from tests.mutants.mutant import ROOT, Change, Engine, mutant
from tests.mutants.run import Result, format_results, run_rows
from tests.mutants.table import MUTANTS

SLOW = ("tests/simulation/", "tests/faults/")
QUICK = [
    row
    for row in MUTANTS
    if row.engine is Engine.SQLITE and not row.guard and not row.needs_own_tables
    if not any(test.startswith(SLOW) for test in row.noticed_by)
]


@pytest.mark.slow
def test_what_is_taken_away_is_noticed() -> None:
    survivors = mutant(
        "one that nobody notices",
        why="so that this test can fail",
        taken_away="nothing",
        path="config/common/database/leases.py",
        text='"""Someone else has claimed the row since: what this holder meant to write is void."""',
        instead='"""Changed."""',
        noticed_by="tests/config/common/test_durations.py",
    )
    before = (ROOT / "config/common/database/leases.py").read_bytes()
    noticed, survivor = run_rows([QUICK[0], survivors])
    assert noticed.fault == ""
    assert survivor.fault == "tests/config/common/test_durations.py: passed"
    assert (ROOT / "config/common/database/leases.py").read_bytes() == before, "the tree is left as it is"


class TestFormatResults:
    ROW = mutant(
        "a mechanism", why="x", taken_away="a lock", path="a", text="b", noticed_by="tests/a.py::test_it_waits"
    )

    def test_names_who_noticed(self) -> None:
        lines = format_results([Result(self.ROW, "", 1.25)]).splitlines()
        assert lines[1].split("  ")[0] == "a mechanism"
        assert "it_waits" in lines[1]
        assert lines[-1] == "1 mechanisms, 1 noticed (0 with their guard), 0 survived; 1 seconds of tests"

    def test_says_what_survived(self) -> None:
        lines = format_results([Result(self.ROW, "tests/a.py::test_it_waits: passed", 1.0)]).splitlines()
        assert "NOBODY" in lines[1]
        assert "1 survived" in lines[-1]


def test_a_change_is_taken_back_whatever_happens(tmp_path: Path) -> None:
    laboratory = Laboratory.__new__(Laboratory)
    laboratory.tree, laboratory._stamp = tmp_path, 0
    file = tmp_path / "module.py"
    file.write_text("a = 1\n")
    stamp = file.stat().st_mtime_ns

    def look_and_fail() -> None:
        with laboratory.changed([Change("module.py", "1", "2")]):
            assert file.read_text() == "a = 2\n"
            assert file.stat().st_mtime_ns != stamp, "compiled bytes of the other text must not pass for it"
            raise KeyError

    with pytest.raises(KeyError):
        look_and_fail()
    assert (file.read_text(), file.stat().st_mtime_ns) == ("a = 1\n", stamp)
