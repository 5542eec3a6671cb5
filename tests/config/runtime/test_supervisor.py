import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from config.runtime import spawn
from config.runtime import supervisor as module
from config.runtime.processes import Process
from config.runtime.supervisor import Child, Supervisor
from tests.faults.wait import wait_until

PROGRAM = """
import os, signal, subprocess, sys, time
match sys.argv[1]:
    case "fail":
        sys.exit(3)
    case "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        helper = subprocess.Popen(["sleep", "60"])
        open(os.environ["NOTE"], "w").write(f"{os.environ['POSTERN_PROCESS']} {helper.pid}\\n")
        time.sleep(60)
    case "gentle":
        open(os.environ["NOTE"], "w").write("up\\n")
        time.sleep(60)
"""


@pytest.fixture
def note(tmp_path: Path) -> Path:
    return tmp_path / "note"


@pytest.fixture
def child(tmp_path: Path, note: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    program = tmp_path / "manage.py"
    program.write_text(PROGRAM)
    monkeypatch.setattr(spawn, "MANAGE", program)
    monkeypatch.setattr(module, "FIRST_PAUSE", 0.05)
    monkeypatch.setattr(module, "STOP_SECONDS", 2.0)
    start = spawn.program_starter({**os.environ, "NOTE": str(note)})
    made: list[Child] = []

    def make(command: str) -> Child:
        made.append(Child(Process("one", command), start))
        return made[-1]

    yield make
    for one in made:
        one.kill()


def tend_until_exited(child: Child, times: int) -> list[dict[str, Any]]:
    with capture_logs() as logs:
        wait_until(lambda: child.advance() and sum(line["event"] == "process.exited" for line in logs) >= times)
    return [dict(line) for line in logs if line["event"] == "process.exited"]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return False


class TestChild:
    def test_one_that_fails_at_once_is_started_again_after_growing_pauses(self, child: Any) -> None:
        exits = tend_until_exited(child("fail"), 3)
        assert [line["pause_seconds"] for line in exits] == [0.05, 0.1, 0.2]
        assert {line["code"] for line in exits} == {3}

    def test_a_pause_never_grows_past_its_limit(self, child: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "LONGEST_PAUSE", 0.06)
        exits = tend_until_exited(child("fail"), 3)
        assert [line["pause_seconds"] for line in exits] == [0.05, 0.06, 0.06]

    def test_a_steady_life_resets_the_pause(self, child: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "STEADY_SECONDS", 0.0)
        exits = tend_until_exited(child("fail"), 3)
        assert [line["pause_seconds"] for line in exits] == [0.05] * 3

    def test_tells_for_how_long_there_is_nothing_to_do(self, child: Any) -> None:
        one = child("fail")
        one.advance()
        assert wait_until(lambda: one.advance() < 1)

    def test_one_that_obeys_is_stopped_at_once(self, child: Any, note: Path) -> None:
        one = child("gentle")
        one.advance()
        assert wait_until(note.exists)
        one.terminate()
        assert one.wait(60)

    def test_one_that_does_not_obey_is_killed_with_all_it_started(self, child: Any, note: Path) -> None:
        one = child("stubborn")
        one.advance()
        assert wait_until(lambda: note.exists() and note.read_text().endswith("\n"))
        name, helper = note.read_text().split()
        one.terminate()
        assert not one.wait(0.2)
        one.kill()
        assert wait_until(lambda: not is_alive(int(helper)), 60)
        assert name == "one"

    def test_one_that_is_killed_takes_what_it_started_with_it(self, child: Any, note: Path) -> None:
        one = child("stubborn")
        one.advance()
        assert wait_until(lambda: note.exists() and note.read_text().endswith("\n"))
        helper = int(note.read_text().split()[1])
        os.kill(one._running.pid, signal.SIGKILL)
        tend_until_exited(one, 1)
        assert wait_until(lambda: not is_alive(helper), 60)

    def test_a_program_that_is_not_there_is_tried_again(self, child: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "executable", "/no/such/program")
        one = child("gentle")
        with capture_logs() as logs:
            assert wait_until(lambda: one.advance() and len(logs) == 2)
        assert [line["event"] for line in logs] == ["process.not_started"] * 2


class TestSupervisor:
    def test_one_that_hangs_holds_up_no_other_and_all_end_in_time(self, child: Any, note: Path) -> None:
        supervisor = Supervisor([], spawn.fork_process)
        hanging, gentle = child("stubborn"), child("gentle")
        supervisor._children = [hanging, gentle]
        hanging.advance()
        assert wait_until(lambda: note.exists() and note.read_text().endswith("\n"))
        gentle.advance()
        with capture_logs() as logs:
            supervisor._stop()
        ended = [(line["name"], line["code"]) for line in logs if line["event"] == "process.stopped"]
        assert ended == [("one", -signal.SIGTERM), ("one", -signal.SIGKILL)]


class TestFork:
    def test_what_cannot_leave_the_supervisor_does_not_become_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse() -> None:
            raise PermissionError

        def leave(code: int) -> None:
            raise SystemExit(code)

        monkeypatch.setattr(os, "fork", lambda: 0)
        monkeypatch.setattr(os, "setsid", refuse)
        monkeypatch.setattr(os, "_exit", leave)
        with pytest.raises(SystemExit) as ended:
            spawn.fork_process(Process("one", "run_web"))
        assert ended.value.code == 1
