import ast
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from config.runtime.bounds import Bound, FieldBound, bounds, field_bounds, render
from config.runtime.bounds.bound import count
from tests.config.api.test_strictness import Callers, fill
from tests.config.runtime.bound_constants import find_constants, find_used
from tests.config.runtime.one_past import ONE_PAST
from tests.config.runtime.without_bound import WITHOUT_BOUND

TOP = Path(__file__).parents[3]
FIELDS = list(field_bounds())


class TestTable:
    def test_each_row_has_a_name_of_its_own_and_a_test_that_goes_one_past_it(self) -> None:
        rows = Counter(row.name for section in bounds().values() for row in section)
        assert rows == Counter(name for tests in ONE_PAST.values() for name in tests)
        assert max(rows.values()) == 1

    @pytest.mark.parametrize("file", ONE_PAST)
    def test_the_tests_are_there(self, file: str) -> None:
        assert set(ONE_PAST[file].values()) - names_in(TOP / "tests" / file) == set()

    def test_every_constant_that_reads_as_a_bound_has_a_row_or_a_reason(self) -> None:
        used, reasoned = find_used(), [name for names in WITHOUT_BOUND.values() for name in names]
        assert sorted(find_constants() - used) == sorted(reasoned)

    def test_rows_of_a_section_can_be_told_apart(self) -> None:
        for section, rows in bounds().items():
            assert max(Counter((row.what, row.per) for row in rows).values()) == 1, section

    def test_a_limit_that_would_read_as_nothing_is_refused(self) -> None:
        with pytest.raises(ValueError, match="0\\.25"):
            count(0.25, "s")
        with pytest.raises(ValueError, match="'0 s'"):
            Bound("name", "what", count(0, "s"), "per", "past")
        assert Bound("name", "what", "0.25 s", "per", "past").limit == "0.25 s"

    def test_no_time_is_written_as_a_clock_shows_it(self) -> None:
        rows = [row for section in bounds().values() for row in section]
        assert [row.name for row in rows if re.search(r"\d:\d\d", f"{row.limit} {row.past}")] == []

    def test_the_document_is_what_the_command_prints(self) -> None:
        kept = (TOP / "docs" / "bounds.md").read_text()
        assert kept == render(), "run: python manage.py show_bounds > docs/bounds.md"


def names_in(file: Path) -> set[str]:
    """Name the tests of a file as pytest does: those of its classes behind the name of the class."""
    top = ast.parse(file.read_text()).body
    groups = [("", top), *((f"{each.name}::", each.body) for each in top if isinstance(each, ast.ClassDef))]
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {f"{prefix}{each.name}" for prefix, body in groups for each in body if isinstance(each, functions)}


@pytest.mark.django_db
@pytest.mark.embedded
@pytest.mark.parametrize(
    "bound", FIELDS, ids=[f"{each.method} {each.path} {each.field} {each.rule}" for each in FIELDS]
)
def test_one_past_the_limit_of_a_field_is_refused_by_name(bound: FieldBound) -> None:
    one_more = int(bound.limit) + 1
    unit: Any = {"maximum": 1, "maxLength": "x", "maxItems": [{}]}[bound.rule]
    past = unit * one_more
    path = fill(bound.path.removeprefix("/api/v1"))
    if bound.place == "query":
        answer = Callers()(bound.method, f"{path}?{bound.field}={past}")
    else:
        versioned = {"version": 1} if path.startswith(("/messages/", "/exchange/")) else {}
        answer = Callers()(bound.method, path, versioned | wrap(bound.field, past))
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid"), answer.content
    entries = {bound.field.replace("[]", place) for place in (".0", "[0]")}
    assert entries & answer.json()["data"]["fields"].keys()


def wrap(field: str, value: Any) -> Any:
    """Put a value into the fields around it."""
    for part in reversed(field.replace("[]", ".[]").split(".")):
        value = [value] if part == "[]" else {part: value}
    return value
