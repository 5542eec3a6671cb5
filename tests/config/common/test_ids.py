import os
import time
from uuid import UUID

import pytest

from config.common import ids
from config.common.ids import find_time, new_id


class TestNewId:
    def test_is_a_uuid_whose_order_is_that_of_time(self) -> None:
        made = [new_id() for _ in range(1000)]
        assert made == sorted(set(made))
        assert {each.version for each in made} == {7}
        assert abs((made[0].int >> 80) / 1000 - time.time()) < 60

    def test_rises_when_the_clock_is_set_back(self, monkeypatch: pytest.MonkeyPatch) -> None:
        before = new_id()
        monkeypatch.setattr("config.common.ids.time.time_ns", lambda: 0)
        assert before < new_id() < new_id()

    @pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
    def test_a_fork_makes_others(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Both go on in the millisecond in which they part."""
        stamp = time.time_ns()
        monkeypatch.setattr("config.common.ids.time.time_ns", lambda: stamp)
        new_id()
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(write, new_id().bytes)
            os._exit(0)
        os.waitpid(child, 0)
        assert UUID(bytes=os.read(read, 16)) != new_id()
        ids._start_anew()


class TestFindTime:
    def test_an_id_says_when_it_was_made(self) -> None:
        at = find_time(new_id().hex)
        assert at is not None
        assert abs(at.timestamp() - time.time()) < 60

    @pytest.mark.parametrize(
        "other", ["call-0001", "d448f877-3d4c-46f2-a1c8-980f39360f08", "f" * 32, "ffffffffffff7fff8fffffffffffffff"]
    )
    def test_any_other_says_nothing(self, other: str) -> None:
        assert find_time(other) is None
