import signal
import subprocess
import sys

import pytest

PROGRAM = """
import os, signal, time
from config.common.background.process_control import die_with_parent
die_with_parent({parent}, signal.{signal})
print("alive")
"""


def run(parent: str, number: signal.Signals) -> subprocess.CompletedProcess[str]:
    program = PROGRAM.format(parent=parent, signal=number.name)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)


class TestDieWithParent:
    def test_leaves_a_process_alone_while_its_parent_lives(self) -> None:
        assert run("os.getppid()", signal.SIGKILL).stdout == "alive\n"

    @pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
    def test_ends_a_process_whose_parent_has_ended_before_it_asked(self, number: signal.Signals) -> None:
        assert run("-1", number).returncode == -number
