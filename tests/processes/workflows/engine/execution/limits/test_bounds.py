"""The bounds of one command and of a state: past them the command fails at an element, and leaves no trace."""

from itertools import pairwise
from typing import Any

import pytest

from processes.workflows.engine.execution import calls, limits, loops
from processes.workflows.engine.runner import CommandFailed
from tests.processes.workflows.engine.execution.limits.test_depth import ONCE, Instance
from tests.processes.workflows.process_files import flow, process

FEW = 8


def steps(count: int) -> bytes:
    """A process of so many elements: its start, and scripts one after the other."""
    script = '<scriptTask id="t{}" postern:assign="a = 1 + 1"/>'
    ids = ["s", *(f"t{number}" for number in range(count - 1))]
    flows = [flow(source, target) for source, target in pairwise(ids)]
    return process("deep", '<startEvent id="s"/>', *(script.format(number) for number in range(count - 1)), *flows)


def called(_: int) -> bytes:
    return process("deep", '<startEvent id="s"/><callActivity id="c" calledElement="deep"/>', flow("s", "c"))


def rounds(count: int) -> bytes:
    loop = ONCE.replace(">1<", f">{count}<")
    return process("deep", f'<startEvent id="s"/><task id="t">{loop}</task>', flow("s", "t"))


BOUNDS: dict[str, tuple[Any, str, Any]] = {
    "elements of a command": (limits, "MAX_STEPS", steps),
    "steps of expressions": (limits, "MAX_CHECKS", steps),
    "rounds": (loops, "MAX_ROUNDS", rounds),
}


@pytest.mark.parametrize("bound", BOUNDS)
def test_one_past_the_bound_fails(bound: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, name, write = BOUNDS[bound]
    monkeypatch.setattr(module, name, FEW)
    Instance(write(FEW))
    with pytest.raises(CommandFailed) as failed:
        Instance(write(FEW * 3))
    assert str(FEW) in failed.value.reason


def test_calls_end_at_their_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "MAX_CALLS", FEW)
    with pytest.raises(CommandFailed, match=str(FEW)):
        Instance(called(0))
