import pytest

from config.common.web.limits import processor as processor_module
from config.common.web.limits.processor import HEAVY_SHARE, MEMORY_SECONDS, OTHERS_SHARE, Processor
from config.common.web.limits.shares import Caller, Standing
from tests.config.common.web.limits.test_buckets import Clock

ANNE, BEN = Caller("anne", Standing.KNOWN), Caller("ben", Standing.KNOWN)
HEAVY, LIGHT = (HEAVY_SHARE + 0.01) * MEMORY_SECONDS, (OTHERS_SHARE + 0.01) * MEMORY_SECONDS


class TestIsHeavy:
    def test_whoever_takes_a_large_part_beside_others(self) -> None:
        processor = Processor(Clock())
        processor.note(ANNE, HEAVY)
        processor.note(BEN, LIGHT)
        assert (processor.is_heavy(ANNE), processor.is_heavy(BEN)) == (True, False)

    def test_alone_nobody_is(self) -> None:
        processor = Processor(Clock())
        processor.note(ANNE, 100 * HEAVY)
        processor.note(BEN, LIGHT / 2)
        assert not processor.is_heavy(ANNE)

    def test_it_fades(self) -> None:
        clock = Clock()
        processor = Processor(clock)
        processor.note(ANNE, HEAVY)
        clock.at += MEMORY_SECONDS
        processor.note(BEN, HEAVY)
        assert not processor.is_heavy(ANNE)

    def test_strangers_are_one(self) -> None:
        processor = Processor(Clock())
        for number in range(10):
            processor.note(Caller(f"192.0.2.{number}", Standing.STRANGER), HEAVY / 10)
        processor.note(BEN, LIGHT)
        assert processor.is_heavy(Caller("192.0.2.99", Standing.STRANGER))

    def test_of_too_many_callers_the_oldest_are_forgotten(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(processor_module, "MOST_CALLERS", 2)
        processor, callers = Processor(Clock()), [ANNE, BEN, Caller("cleo", Standing.KNOWN)]
        for caller in callers:
            processor.note(caller, HEAVY)
        assert [processor.is_heavy(caller) for caller in callers] == [False, True, True]
