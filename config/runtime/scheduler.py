"""The scheduler: does whatever is due and not yet done, in its own process or inside the server's."""

import time
from collections.abc import Callable
from typing import Any

import psycopg
import structlog
from django.db import connection
from psycopg import sql

from config.common.background.daemon import Daemon, run_until_signalled, stop_all
from config.common.background.ring import CHANNEL, set_local_wake
from config.common.background.work import registered_work, stop_background_work
from config.engines import postgresql

log = structlog.get_logger(__name__)

GRACE_SECONDS = 4.0
WORK_GRACE_SECONDS = 3.0
LISTEN_SECONDS = 1.0
# Who only listens does not notice that another server has taken the place of this one, and that nobody rings here.
RECONNECT_SECONDS = 60.0


class Scheduler:
    """A loop for each registered kind of work, so that a slow kind delays nobody."""

    def __init__(self) -> None:
        self._by_work = {
            work.name: Daemon(work.run_once, work.every, work.name, work.rest, work.gather)
            for work in registered_work()
        }
        self._listener = _Listener(self.wake, self.wake_all)
        self._daemons = tuple(self._by_work.values())
        if connection.vendor == "postgresql":
            self._daemons += (Daemon(self._listener.listen, LISTEN_SECONDS, "listen"),)

    def run(self) -> None:
        """Run in the foreground of a command until SIGTERM or SIGINT."""
        set_local_wake(self.wake)
        log.info("scheduler.started", work=sorted(self._by_work))
        try:
            run_until_signalled(*self._daemons, grace=GRACE_SECONDS)
        finally:
            stop_background_work(WORK_GRACE_SECONDS)
            self._listener.close()
            log.info("scheduler.stopped")

    def start(self) -> None:
        """Run beside the server, in threads of its process."""
        set_local_wake(self.wake)
        for daemon in self._daemons:
            daemon.start()
        log.info("scheduler.started", work=sorted(self._by_work))

    def stop(self) -> None:
        set_local_wake(None)
        stop_all(self._daemons, grace=GRACE_SECONDS)
        stop_background_work(WORK_GRACE_SECONDS)
        self._listener.close()
        log.info("scheduler.stopped")

    def wake(self, name: str) -> None:
        """Wake the work of that name; a newer node may ring for work that this one does not know."""
        daemon = self._by_work.get(name)
        if daemon is not None:
            daemon.wake()

    def wake_all(self) -> None:
        for daemon in self._by_work.values():
            daemon.wake()


class _Listener:
    """Listens for the rings of other processes; a lost connection is opened again by the next turn."""

    def __init__(self, wake: Callable[[str], None], wake_all: Callable[[], None]) -> None:
        self._wake = wake
        self._wake_all = wake_all
        self._connection: psycopg.Connection[Any] | None = None
        self._renewed_at = 0.0

    def listen(self) -> bool:
        if time.monotonic() - self._renewed_at >= RECONNECT_SECONDS:
            self.close()
        if self._connection is None:
            self._connection = postgresql.connect()
            self._renewed_at = time.monotonic()
            self._connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(CHANNEL)))
            # What was rung while nobody listened is lost: look everywhere.
            self._wake_all()
        try:
            for notice in self._connection.notifies(timeout=LISTEN_SECONDS):
                self._wake(notice.payload)
        except psycopg.Error:
            self.close()
            raise
        return True

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
