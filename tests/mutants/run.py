"""Run the table: each mechanism is taken away in a copy of the tree, and the tests that must notice are run there."""

import os
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from tests.mutants.laboratory import Laboratory, prepare_tables
from tests.mutants.mutant import Engine, Mutant
from tests.mutants.verdict import Outcomes, judge, judge_survivor
from tests.servers.bench import VIRTUAL_HOSTS

REDUNDANT = "redundant"


@dataclass(frozen=True)
class Result:
    row: Mutant
    fault: str
    """Why the mechanism is not proved; empty where it is."""
    seconds: float


def run_rows(rows: Sequence[Mutant], *, at_once: int = 2) -> list[Result]:
    """Run these rows, in as many copies of the tree as may be at work at once; return the results in their order."""
    with tempfile.TemporaryDirectory(prefix="postern-mutants-") as folder, ExitStack() as open_laboratories:
        shared = _share_tables(Path(folder), rows)
        free: SimpleQueue[Laboratory] = SimpleQueue()
        for number in range(min(at_once, len(rows))):
            own = Path(folder) / str(number)
            own.mkdir()
            free.put(open_laboratories.enter_context(Laboratory(own, shared, VIRTUAL_HOSTS[number])))

        def run(row: Mutant) -> Result:
            laboratory = free.get()
            try:
                result = run_row(laboratory, row)
            finally:
                free.put(laboratory)
            said = f"NOT NOTICED: {result.fault}" if result.fault else "noticed"
            print(f"{result.seconds:6.1f} s  {row.name}: {said}", file=sys.stderr, flush=True)
            return result

        with ThreadPoolExecutor(at_once) as threads:
            return list(threads.map(run, rows))


def run_row(laboratory: Laboratory, row: Mutant) -> Result:
    """Take one mechanism away; one that is redundant also together with its guard."""
    began = time.monotonic()
    fault = ""
    with laboratory.changed(row.changes):
        alone = laboratory.run(row.noticed_by, row.engine, own_tables=row.needs_own_tables)
    if row.guard:
        fault = judge_survivor(alone, row.noticed_by)
        with laboratory.changed((*row.changes, *row.guard)):
            alone = laboratory.run(row.noticed_by, row.engine, own_tables=row.needs_own_tables)
    fault = fault or judge(alone, row.noticed_by, row.kinds)
    return Result(row, fault, time.monotonic() - began)


def check_as_they_are(rows: Sequence[Mutant]) -> str:
    """Run every test of these rows with nothing taken away; return which fail: they could notice nothing."""
    with tempfile.TemporaryDirectory(prefix="postern-mutants-") as folder:
        faults: list[str] = []
        with Laboratory(Path(folder), _share_tables(Path(folder), rows), VIRTUAL_HOSTS[0]) as laboratory:
            for engine in Engine:
                named = list(dict.fromkeys(test for row in rows if row.engine is engine for test in row.noticed_by))
                if named:
                    faults += _failures(laboratory.run(named, engine, seconds=len(named) * 60.0), named, engine)
    return "\n".join(faults)


def _share_tables(folder: Path, rows: Sequence[Mutant]) -> Path:
    """Return where tests find the tables: those of the run that this is a test of, or new ones."""
    shared = Path(os.environ.get("TEST_SHARED_FOLDER") or folder / "shared")
    shared.mkdir(exist_ok=True)
    if not (shared / "template").exists() or any(row.engine is Engine.POSTGRESQL for row in rows):
        prepare_tables(shared)
    return shared


def _failures(outcomes: Outcomes, named: Sequence[str], engine: Engine) -> list[str]:
    fault = outcomes.find_fault()
    if fault:
        return [f"{engine}: {fault}"]
    return [f"{engine}: {test}: {outcomes.describe(test)}" for test in named if not outcomes.has_passed(test)]


def format_results(results: Sequence[Result]) -> str:
    """Return the table of what was taken away and who noticed."""
    head = ("mechanism", "taken away", "noticed by", "seconds")
    lines = [head]
    for result in results:
        row = result.row
        noticed = ", ".join(test.rpartition("::")[2].removeprefix("test_") for test in row.noticed_by)
        if row.guard:
            noticed = f"{REDUNDANT}, behind it {row.guard_name}; both: {noticed}"
        lines.append((row.name, row.taken_away, noticed if not result.fault else "NOBODY", f"{result.seconds:.1f}"))
    widths = [min(70, max(len(line[column]) for line in lines)) for column in range(4)]
    table = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    survived = sum(bool(result.fault) for result in results)
    redundant = sum(bool(result.row.guard) and not result.fault for result in results)
    total = sum(result.seconds for result in results)
    table.append(
        f"{len(results)} mechanisms, {len(results) - survived} noticed ({redundant} with their guard), "
        f"{survived} survived; {total:.0f} seconds of tests"
    )
    return "\n".join(table)
