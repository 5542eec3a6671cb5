"""Whether the engines answer: asked side by side, within a second, and not again for the next one."""

import threading
import time
from collections.abc import Callable

import structlog
from django.conf import settings
from django.db import connection
from django.utils.module_loading import import_string

from config.common.background.one_at_a_time import OneAtATime, StillRunning
from config.engines import postgresql

log = structlog.get_logger(__name__)

PATIENCE_SECONDS = 1.0
FRESH_SECONDS = 1.5


def engine_states() -> dict[str, str]:
    """Return `ok`, `down` or, where the engine is not configured, `off` for each of them."""
    return _states.get()


def check_database() -> None:
    """Raise unless the database answers; on PostgreSQL over a connection that needs no free place in the pool."""
    if connection.vendor == "postgresql":
        postgresql.health()
        return
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    finally:
        connection.close()


class _Check:
    """The check of one engine; never a second one beside one that hangs."""

    def __init__(self, engine: str, is_on: Callable[[], bool], health: str) -> None:
        self.engine = engine
        self.is_on = is_on
        # By name: the client of an engine that is not configured is never loaded.
        self._check = OneAtATime(f"check-{engine}", lambda: import_string(health)())
        self._is_up = True

    def begin(self) -> None:
        self._check.begin()

    def is_up(self, deadline: float) -> bool:
        """Wait for the answer, and log when it differs from the last one."""
        error = self._wait_for_error(max(0.0, deadline - time.monotonic()))
        if self._is_up and error:
            log.warning("engine.down", engine=self.engine, error=error)
        elif not self._is_up and not error:
            log.info("engine.up", engine=self.engine)
        self._is_up = not error
        return self._is_up

    def _wait_for_error(self, seconds: float) -> str:
        try:
            self._check.wait(seconds)
        except StillRunning:
            return f"no answer within {PATIENCE_SECONDS:g} s"
        except Exception as error:  # noqa: BLE001  (each client has errors of its own; all mean the same here)
            return repr(error)
        return ""


class _States:
    """The last answers; whoever asks meanwhile waits for the same ones."""

    def __init__(self, checks: tuple[_Check, ...]) -> None:
        self._checks = checks
        self._lock = threading.Lock()
        self._states: dict[str, str] = {}
        self._stale_at = 0.0

    def get(self) -> dict[str, str]:
        with self._lock:
            if time.monotonic() >= self._stale_at:
                self._states = self._ask()
                self._stale_at = time.monotonic() + FRESH_SECONDS
            return dict(self._states)

    def _ask(self) -> dict[str, str]:
        states = {check.engine: "off" for check in self._checks}
        asked = [check for check in self._checks if check.is_on()]
        for check in asked:
            check.begin()
        deadline = time.monotonic() + PATIENCE_SECONDS
        states.update({check.engine: "ok" if check.is_up(deadline) else "down" for check in asked})
        return states


_states = _States(
    (
        _Check("database", lambda: True, "config.runtime.health.check_database"),
        _Check("amqp", lambda: bool(settings.AMQP_URL), "config.engines.amqp.health"),
        _Check("redis", lambda: bool(settings.REDIS_URL), "config.engines.redis.health"),
        _Check("clickhouse", lambda: bool(settings.CLICKHOUSE_URL), "config.engines.clickhouse.health"),
    )
)
