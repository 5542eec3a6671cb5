import os
from unittest.mock import Mock, patch

import pytest

from config.common.background.per_process import PerProcess


class TestPerProcess:
    def test_one_object_is_made_when_it_is_first_asked_for(self) -> None:
        make = Mock(side_effect=object)
        own = PerProcess(make)
        assert make.call_count == 0
        assert own.get() is own.get()
        assert make.call_count == 1

    def test_what_was_taken_is_made_anew_for_who_asks_later(self) -> None:
        own = PerProcess(object)
        assert own.take() is None
        first = own.get()
        assert own.take() is first
        assert own.get() is not first

    def test_a_fork_has_an_object_of_its_own_also_when_the_lock_was_held(self) -> None:
        own = PerProcess(os.getpid)
        assert own.get() == os.getpid()
        with own._lock:
            child = os.fork()
            if child == 0:
                os._exit(0 if own.get() == os.getpid() else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert own.get() == os.getpid()

    def test_an_object_that_cannot_be_made_is_tried_again(self) -> None:
        own = PerProcess(os.getpid)
        with patch.object(own, "_make", side_effect=BlockingIOError), pytest.raises(BlockingIOError):
            own.get()
        assert own.get() == os.getpid()
