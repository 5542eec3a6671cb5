from collections.abc import Callable
from typing import Any

import pytest

from notifications.sessions import handlers
from notifications.sessions.handlers import register_function, register_handler


@pytest.fixture(autouse=True)
def _own_handlers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Handlers of one test are not those of another."""
    monkeypatch.setattr(handlers, "_registered", dict(handlers._registered))
    register_function("test", lambda session: None)


@pytest.fixture
def handle() -> Callable[[Any], None]:
    """Let a factory of handlers repeat the sessions of the tests' theme."""
    return lambda factory: register_handler("test", factory)


@pytest.fixture
def handle_by() -> Callable[[Any], None]:
    """Let a plain function do it."""
    return lambda function: register_function("test", function)
