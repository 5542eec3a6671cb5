"""Handlers of sessions: Python code that repeats them, registered by name in `AppConfig.ready` or by plugins."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from config.common.plugins import find_declared
from notifications.sessions.operations import Delete, Operation


@dataclass(frozen=True)
class SessionView:
    """A session as its handler sees it when the repeat begins."""

    id: int
    theme: int
    change: int
    records: list[Any]
    repeats: int
    fence: int
    """Greater with every repeat: a receiver of the handler's effects may refuse a late one by it."""
    correlation_id: str


class RepeatHandler(Protocol):
    """Repeats one session, once. `cancel` is called from another thread, on a graceful stop or after the timeout."""

    def next_operation(self) -> Operation | None:
        """Return the next operation; None ends the repeat with success, an exception with failure."""

    def cancel(self) -> None: ...


MakeHandler = Callable[[SessionView], RepeatHandler]


def register_handler(name: str, factory: MakeHandler) -> None:
    _registered[name] = factory


def register_function(name: str, function: Callable[[SessionView], object]) -> None:
    """Register a plain function: the repeat succeeds when it returns and fails when it raises.

    Many repeats are recorded together after their functions have returned: what one does must be safe to do again.
    """
    _registered[name] = lambda session: _FunctionHandler(function, session)


def register_handlers_of_plugins() -> None:
    """Register the handlers that plugins declare: functions, and classes that make a `RepeatHandler` of a session."""
    for _, handlers in find_declared("SESSION_HANDLERS"):
        for name, handler in handlers.items():
            register = register_handler if isinstance(handler, type) else register_function
            register(name, handler)


def is_registered(name: str) -> bool:
    return name in _registered


def registered_handlers() -> list[str]:
    return sorted(_registered)


def make_handler(name: str, session: SessionView) -> RepeatHandler:
    factory = _registered.get(name)
    if factory is None:
        raise LookupError(f"no handler is registered as {name}")
    return factory(session)


class _FunctionHandler:
    def __init__(self, function: Callable[[SessionView], object], session: SessionView) -> None:
        self._function, self._session = function, session

    def next_operation(self) -> Operation | None:
        self._function(self._session)
        return Delete(waits_for_answer=False)

    def cancel(self) -> None:
        """A function cannot be stopped from outside."""


_registered: dict[str, MakeHandler] = {}
