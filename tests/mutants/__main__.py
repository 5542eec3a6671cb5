"""Look at the table alone (`python -m tests.mutants check`), or take away and test (`python -m tests.mutants run`).

The servers of the tests must be up for `run` (`make mutants` starts them). With words behind it only the rows
whose names or files have one of them are run.
"""

import argparse
import sys
import time
from collections.abc import Sequence

from tests.mutants.check import find_problems
from tests.mutants.mutant import Engine, Mutant
from tests.mutants.run import check_as_they_are, format_results, run_rows
from tests.mutants.table import MUTANTS


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("what", choices=["check", "run"])
    parser.add_argument("words", nargs="*")
    parser.add_argument(
        "--on", choices=list(Engine), help="only the rows of one engine; those of SQLite need no server"
    )
    parser.add_argument("--at-once", type=int, default=2)
    parser.add_argument("--skip-first-run", action="store_true", help="trust that the tests pass as they are")
    options = parser.parse_intermixed_args(arguments)
    problems = find_problems()
    for problem in problems:
        print(problem, file=sys.stderr)
    if options.what == "check":
        return 1 if problems else 0
    rows = [row for row in MUTANTS if _is_meant(row, options.words) and options.on in (None, row.engine)]
    began = time.monotonic()
    if not options.skip_first_run:
        failing = check_as_they_are(rows)
        if failing:
            print(f"These tests fail with nothing taken away:\n{failing}", file=sys.stderr)
            return 1
    results = run_rows(rows, at_once=options.at_once)
    print(format_results(results))
    print(f"{time.monotonic() - began:.0f} seconds in all")
    return 1 if problems or any(result.fault for result in results) else 0


def _is_meant(row: Mutant, words: Sequence[str]) -> bool:
    text = " ".join([row.name, *(change.path for change in row.changes)])
    return not words or any(word in text for word in words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
