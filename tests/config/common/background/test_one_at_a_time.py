import threading
from collections.abc import Iterator

import pytest

from config.common.background.one_at_a_time import OneAtATime, StillRunning


class TestOneAtATime:
    def test_gives_the_result_of_each_run(self) -> None:
        numbers = iter(range(9))
        work = OneAtATime("test", lambda: next(numbers))
        for expected in range(3):
            work.begin()
            assert [work.wait(60), work.wait(60)] == [expected, expected]

    def test_an_error_is_raised_to_who_waits_and_is_not_the_end(self) -> None:
        def answer() -> Iterator[int]:
            yield 1
            raise SystemExit

        answers = answer()
        work = OneAtATime("test", lambda: next(answers))
        work.begin()
        assert work.wait(60) == 1
        for expected in (SystemExit, StopIteration):
            work.begin()
            with pytest.raises(expected):
                work.wait(60)

    def test_gets_no_second_run_beside_one_that_hangs_and_goes_on_after_it(self) -> None:
        begun, go_on = list[int](), threading.Event()

        def hang() -> int:
            begun.append(1)
            go_on.wait(30)
            return len(begun)

        work = OneAtATime("test", hang)
        for _ in range(3):
            work.begin()
            with pytest.raises(StillRunning):
                work.wait(0.02)
        go_on.set()
        assert (work.wait(60), begun) == (1, [1])
        work.begin()
        assert work.wait(60) == 2
