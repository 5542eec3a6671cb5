import time

import pytest

from processes.workflows.engine.problems import NotExecutable
from processes.workflows.engine.reading import read_definition
from tests.workflows.engine.cmmn.hostile import FILES


class TestHostileFiles:
    @pytest.mark.parametrize("name", FILES)
    def test_none_is_read_and_none_takes_a_second(self, name: str) -> None:
        source = FILES[name]()
        began = time.process_time()
        with pytest.raises(NotExecutable):
            read_definition(source)
        assert time.process_time() - began < 1
