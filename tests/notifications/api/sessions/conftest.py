from typing import Any

import pytest

from notifications.sessions.handlers import register_function
from tests.notifications.sessions.themes import theme
from tests.sensors.api.callers import Caller, service


@pytest.fixture(autouse=True)
def _handler() -> None:
    register_function("test", lambda session: None)


@pytest.fixture
def caller() -> Caller:
    return service("sessions")


@pytest.fixture
def begin(caller: Caller) -> Any:
    """Begin a session of a new theme; return what it answers."""

    def make(*records: Any, **values: Any) -> Any:
        theme(**{"length_limit": 100, **values})
        return caller("POST", "/sessions/", {"theme": 7, "records": list(records)}).json()

    return make
