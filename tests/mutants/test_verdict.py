import json
from pathlib import Path

import pytest

from tests.mutants.verdict import Outcomes, judge, judge_survivor

TEST = "tests/a.py::TestA::test_a"


def outcomes(*lines: tuple[str, str, str], code: int = 1) -> Outcomes:
    found: dict[str, list[tuple[str, str]]] = {}
    for test, when, outcome in lines:
        found.setdefault(test, []).append((when, outcome))
    return Outcomes(found, code)


class TestJudge:
    @pytest.mark.parametrize("named", [TEST, "tests/a.py", "tests/a.py::TestA"])
    def test_a_failed_assertion_is_noticed(self, named: str) -> None:
        assert judge(outcomes((TEST, "call", "AssertionError")), [named], []) == ""
        assert judge(outcomes((f"{TEST}[1]", "call", "Failed")), [named], []) == ""

    @pytest.mark.parametrize(
        "line",
        [
            (TEST, "call", "passed"),
            (TEST, "call", "ImportError"),
            (TEST, "call", "NameError"),
            (TEST, "call", "Skipped"),
            (TEST, "setup", "AssertionError"),
            (f"{TEST}_other", "call", "AssertionError"),
        ],
    )
    def test_anything_else_is_not(self, line: tuple[str, str, str]) -> None:
        assert TEST in judge(outcomes(line), [TEST], [])

    def test_unless_the_row_names_it(self) -> None:
        assert judge(outcomes((TEST, "call", "IntegrityError")), [TEST], ["IntegrityError"]) == ""

    def test_each_named_test_must_notice(self) -> None:
        said = outcomes((TEST, "call", "AssertionError"), ("tests/b.py::test_b", "call", "passed"))
        assert judge(said, [TEST, "tests/b.py::test_b"], []) == "tests/b.py::test_b: passed"

    def test_what_cannot_be_collected_or_hangs_notices_nothing(self) -> None:
        assert "cannot be collected" in judge(outcomes(("tests/a.py", "collect", "error"), code=2), [TEST], [])
        assert "pytest ended with -1" in judge(outcomes(code=-1), [TEST], [])


class TestJudgeSurvivor:
    def test_alone_it_must_not_be_noticed(self) -> None:
        assert judge_survivor(outcomes((TEST, "call", "passed"), code=0), [TEST]) == ""
        assert "not redundant" in judge_survivor(outcomes((TEST, "call", "AssertionError")), [TEST])
        assert "did not run" in judge_survivor(outcomes(("tests/b.py::b", "call", "passed"), code=0), [TEST])


def test_reads_what_the_plugin_wrote(tmp_path: Path) -> None:
    file = tmp_path / "outcomes"
    file.write_text(json.dumps([TEST, "call", "passed"]) + "\n")
    assert Outcomes.read(file, 0).has_passed(TEST)
    assert Outcomes.read(tmp_path / "missing", 3).find_fault() == "pytest ended with 3"
