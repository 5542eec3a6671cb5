"""A fork server: it loads the product once and forks each `manage.py` command from there, which saves a second each.

`manage.py up` starts them in the same way. What is forked is handed over to the run of the tests: it is their child,
ends with them, and they wait for it.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from config.common.background.process_control import die_with_parent
from config.load import loading
from config.runtime.spawn import Fork

ROOT = Path(__file__).resolve().parents[2]
PR_SET_CHILD_SUBREAPER = 36


class ForkServer:
    """One loaded product; whoever needs other environment variables needs another one."""

    def __init__(self, environment: Mapping[str, str], folder: Path) -> None:
        self.environment = dict(environment)
        adopt_orphans()
        tests = os.getpid()
        with (folder / "forkserver.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.faults.forkserver", str(tests)],
                cwd=ROOT,
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                preexec_fn=lambda: die_with_parent(tests),
            )

    def fork(self, arguments: Sequence[str], log: Path) -> "ForkedProcess":
        """Start a command of `manage.py` that writes to the log."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([list(arguments), str(log)]).encode() + b"\n")
        self._process.stdin.flush()
        return ForkedProcess(int(self._process.stdout.readline()))

    def close(self) -> None:
        with self._process:
            self._process.kill()


class ForkedProcess(Fork):
    """A forked command with the methods of `subprocess.Popen` that drills use: kill, signal, wait."""

    def wait(self, timeout: float = 300) -> int:
        return super().wait(timeout)

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def adopt_orphans() -> None:
    """Become the parent of the processes whose parent has ended, if it was one of ours."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def serve(tests: int) -> None:
    """Fork for each line that is read; every process but this one returns to begin its own work."""
    with loading():
        import django

        django.setup()
        from config.runtime.management.commands.up import LOADED, load
    load(LOADED)
    # Line by line from the descriptor itself: what is read ahead would be in the memory of every fork.
    with os.fdopen(0, "rb", buffering=0, closefd=False) as orders:
        for line in orders:
            arguments, log = json.loads(line)
            between = os.fork()
            if between:
                os.waitpid(between, 0)
            elif os.fork():
                os._exit(0)
            else:
                run_as_fork(arguments, log, tests)
                return


def run_as_fork(arguments: list[str], log: str, tests: int) -> None:
    """Become a child of the tests, write to the log, and take the arguments for the command line."""
    while os.getppid() != tests:
        time.sleep(0.001)
    die_with_parent(tests)
    os.write(1, f"{os.getpid()}\n".encode())
    files = ((os.devnull, os.O_RDONLY, (0,)), (log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, (1, 2)))
    for path, mode, descriptors in files:
        opened = os.open(path, mode, 0o600)
        for descriptor in descriptors:
            os.dup2(opened, descriptor)
        os.close(opened)
    sys.argv = ["manage.py", *arguments]


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    serve(int(sys.argv[1]))
    if sys.argv[0] == "manage.py":
        from django.core.management import execute_from_command_line

        execute_from_command_line(sys.argv)
