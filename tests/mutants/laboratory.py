"""A copy of the tree in which mechanisms are taken away: the working tree is never touched."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from tests.mutants.mutant import ROOT, Change, Engine
from tests.mutants.outcome_plugin import FILE_VARIABLE
from tests.mutants.verdict import Outcomes
from tests.servers.rabbitmq import VIRTUAL_HOSTS_VARIABLE

NOT_COPIED = shutil.ignore_patterns(
    ".git", ".venv", "var", "node_modules", ".mypy_cache", ".ruff_cache", ".import_linter_cache"
)
NOT_INHERITED = (
    *("SUITE", "QUICK", "TEST_PROFILE", "PYTEST_ADDOPTS"),
    *("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT", "PYTEST_XDIST_TESTRUNUID"),
)
"""What a run of the suite says of itself."""
SECONDS = 240
"""For the tests of one row: what takes longer hangs, which notices nothing."""
SECONDS_OF_A_TEST = 40


PREPARE = """
import os
from tests.faults.product import ensure_migrated, ensure_template
ensure_template()
if "TEST_DATABASE_URL" in os.environ:
    ensure_migrated(os.environ["TEST_DATABASE_URL"])
"""


def prepare_tables(shared: Path) -> None:
    """Have the tables that the tests of all copies begin with, made by the product as it is."""
    environment = {**os.environ, "TEST_SHARED_FOLDER": str(shared)}
    subprocess.run([sys.executable, "-c", PREPARE], cwd=ROOT, env=environment, check=True)


class Laboratory:
    """One copy, for one thread."""

    def __init__(self, folder: Path, shared: Path, host: str = "") -> None:
        self._folder, self._shared, self._host = folder, shared, host
        self._stamp = 0
        self.tree = folder / "tree"
        shutil.copytree(ROOT, self.tree, ignore=NOT_COPIED, symlinks=True)
        self._zygote = subprocess.Popen(
            [sys.executable, "-m", "tests.mutants.zygote"],
            cwd=self.tree,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def changed(self, changes: Sequence[Change]) -> Iterator[None]:
        """Take the mechanisms away; put them back in the end."""
        paths = {change.path: self.tree / change.path for change in changes}
        before = {path: (path.read_text(), path.stat()) for path in paths.values()}
        try:
            for change in changes:
                path = paths[change.path]
                path.write_text(change.apply_to(path.read_text()))
                # A time that it has never had: else compiled bytes of another text of the same length may pass for it.
                self._stamp += 10
                os.utime(path, (time.time(), before[path][1].st_mtime + self._stamp))
            yield
        finally:
            for path, (text, found) in before.items():
                path.write_text(text)
                os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))

    def run(
        self, tests: Sequence[str], engine: Engine, *, own_tables: bool = False, seconds: float = SECONDS
    ) -> Outcomes:
        """Run these tests on what the copy is now."""
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            outcomes, shared = Path(folder) / "outcomes", Path(folder) / "shared"
            shared.mkdir()
            environment = {**os.environ, FILE_VARIABLE: str(outcomes)}
            for name in NOT_INHERITED:
                environment.pop(name, None)
            environment["TEST_SHARED_FOLDER"] = str(shared if own_tables else self._shared)
            environment["DRILL_SCALE"] = "0.02"
            if engine is Engine.SQLITE:
                environment["TEST_PROFILE"] = "embedded"
            if self._host:
                environment[VIRTUAL_HOSTS_VARIABLE] = self._host
            options = ["-q", "--no-header", "-p", "tests.mutants.outcome_plugin", f"--timeout={SECONDS_OF_A_TEST}"]
            code = self._ask(
                {
                    "arguments": [*options, *dict.fromkeys(tests)],
                    "environment": environment,
                    "log": str(self._folder / "last.log"),
                    "seconds": seconds,
                }
            )
            return Outcomes.read(outcomes, code)

    def close(self) -> None:
        with self._zygote:  # closes its pipes, at which it ends, and waits for that
            pass

    def _ask(self, command: dict[str, object]) -> int:
        assert self._zygote.stdin is not None
        assert self._zygote.stdout is not None
        self._zygote.stdin.write(json.dumps(command) + "\n")
        self._zygote.stdin.flush()
        return int(self._zygote.stdout.readline())
