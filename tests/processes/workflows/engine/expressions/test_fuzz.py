"""A million random expressions: refused or bounded, never more than a second or 100 MB."""

import os
import re
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from processes.workflows.engine.expressions import ExpressionError, ExpressionFailed, compile_expression
from tests.processes.workflows.engine.expressions.random_expressions import NAMES, random_expression

pytestmark = pytest.mark.timeout(1800)

SCALE = float(os.environ.get("DRILL_SCALE", "0.02"))
EXPRESSIONS = int(1_000_000 * SCALE)


def outcome_of(text: str) -> str:
    try:
        value = compile_expression(text).evaluate(NAMES)
    except ExpressionError as error:
        check_message(error.message)
        check_position(error.position, text)
        return "refused"
    except ExpressionFailed as failed:
        check_message(failed.reason)
        return "failed"
    check_value(value)
    return "value"


def check_message(message: str) -> None:
    """See that it can be stored and shown."""
    assert len(message) < 1_000
    assert "\x00" not in message
    assert message.encode()


def check_position(position: int, text: str) -> None:
    assert 0 <= position <= len(text)


def check_value(value: Any) -> None:
    assert type(value) in (str, int, float, bool, list, dict, type(None))
    assert not isinstance(value, str) or len(value) <= 100_000
    assert not isinstance(value, list) or len(value) <= 10_000
    assert not isinstance(value, int) or abs(value) <= 10**18
    assert not isinstance(value, float) or value - value == 0


def forget_peak_memory() -> int:
    """Begin to measure anew: what ran before in this process may have taken more. Give what is in use now."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak_memory()


def peak_memory() -> int:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found
    return int(found[1]) * 1024


class TestRandomExpressions:
    @pytest.mark.slow
    def test_each_is_refused_or_bounded(self) -> None:
        chance = Random(20_260_101)
        outcomes: Counter[str] = Counter()
        slowest = 0.0
        memory = forget_peak_memory()
        for _ in range(EXPRESSIONS):
            text = random_expression(chance)
            started = time.thread_time()
            outcomes[outcome_of(text)] += 1
            slowest = max(slowest, time.thread_time() - started)
        print(f"{outcomes}, slowest {slowest * 1000:.1f} ms, {(peak_memory() - memory) / 1e6:.1f} MB")
        assert slowest < 1
        assert peak_memory() - memory < 100_000_000
        # Or nothing would have been tried.
        assert min(outcomes[each] for each in ("value", "failed", "refused")) > EXPRESSIONS / 20
