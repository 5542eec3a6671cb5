from collections.abc import Iterator

import pytest

from notifications.sessions import repeater as module
from notifications.sessions.repeater import Repeater
from tests.faults.wait import wait_until


@pytest.fixture
def repeater(monkeypatch: pytest.MonkeyPatch) -> Iterator[Repeater]:
    # A busy machine may take more than the usual second to start a worker; nothing is to be given back meanwhile.
    monkeypatch.setattr(module, "LONGEST_WAIT", 3.0)
    made = Repeater(workers=4)
    yield made
    made.stop(3)
    assert wait_until(lambda: not made._keeper.is_running, 60)
