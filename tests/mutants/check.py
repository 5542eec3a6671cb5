"""Check the table itself: every row fits the code, names tests that exist, and no mechanism is without a row."""

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache

from tests.mutants.mechanisms import Mechanism, find_mechanisms
from tests.mutants.mutant import ROOT, Mutant, RowOutdated
from tests.mutants.table import MUTANTS
from tests.mutants.without_row import WITHOUT_ROW


def find_problems() -> list[str]:
    return [
        *find_outdated_rows(MUTANTS),
        *find_missing_tests(MUTANTS),
        *find_unproved(find_mechanisms(), MUTANTS, WITHOUT_ROW),
    ]


def find_outdated_rows(rows: Sequence[Mutant]) -> Iterator[str]:
    """Say which rows do not fit the code, or each other."""
    for name, times in Counter(row.name for row in rows).items():
        if times > 1:
            yield f"{name}: {times} rows have this name"
    for row in rows:
        if not row.changes or not row.noticed_by:
            yield f"{row.name}: takes nothing away, or nobody is to notice"
        texts: dict[str, str] = {}
        for change in (*row.changes, *row.guard):
            try:
                before = texts.get(change.path) or (ROOT / change.path).read_text()
                texts[change.path] = change.apply_to(before)
            except (RowOutdated, FileNotFoundError) as error:
                yield f"{row.name}: {error}"
            else:
                if texts[change.path] == before:
                    yield f"{row.name}: changes nothing in {change.path}"


def find_missing_tests(rows: Sequence[Mutant]) -> Iterator[str]:
    for row in rows:
        for test in row.noticed_by:
            path, *names = test.partition("[")[0].split("::")
            if names and "::".join(names) not in _tests_in(path):
                yield f"{row.name}: there is no test {test}"
            elif not names and not (ROOT / path).is_file():
                yield f"{row.name}: there is no file {path}"


def find_unproved(
    mechanisms: Sequence[Mechanism], rows: Sequence[Mutant], without_row: dict[str, tuple[str, ...]]
) -> Iterator[str]:
    """Say which mechanisms have neither a row nor a reason, and which reasons are about nothing."""
    changes = [change for row in rows for change in (*row.changes, *row.guard)]
    found = {each.name for each in mechanisms}
    named = {name for row in rows for name in row.proves}
    proved = {each.name for each in mechanisms if each.is_touched_by(changes)} | named
    excused = Counter(name for names in without_row.values() for name in names)
    for name in sorted(named - found):
        yield f"{name}: a row says that it proves it, and it is not there any more"
    for name in sorted(found - proved - excused.keys()):
        yield f"{name}: give it a row in tests/mutants/table, or a reason in tests/mutants/without_row.py"
    for name, times in sorted(excused.items()):
        if name not in found:
            yield f"{name}: has a reason in tests/mutants/without_row.py, and is not there any more"
        elif name in proved:
            yield f"{name}: has a row, and needs no reason in tests/mutants/without_row.py"
        elif times > 1:
            yield f"{name}: has {times} reasons in tests/mutants/without_row.py"


@cache
def _tests_in(path: str) -> frozenset[str]:
    """Return the names of the tests of a file, and of its classes."""
    file = ROOT / path
    if not file.is_file():
        return frozenset()
    found: set[str] = set()
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            found.add(node.name)
            functions = [each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
            found |= {f"{node.name}::{each.name}" for each in functions}
    return frozenset(found)
