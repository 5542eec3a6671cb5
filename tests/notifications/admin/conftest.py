"""The pages of sessions are tested with the handlers that the tests of sessions register."""

from tests.notifications.sessions.conftest import _own_handlers, handle

__all__ = ["_own_handlers", "handle"]
