"""The doorbell: after a commit, wake whoever does the work, without ever holding up or failing the caller.

A ring is a hint and may be lost: the scheduler looks for due work every few seconds anyway. So the caller only leaves
the name; one thread of the process passes it on, to the Celery workers where there is a broker, else to the scheduler.
"""

import threading
import time
from collections.abc import Callable
from typing import Any

import structlog
from celery import current_app
from django.conf import settings
from django.db import OperationalError, connection, transaction
from prometheus_client import Counter

from config.common.background.per_process import PerProcess
from config.common.background.supervision import SupervisedThread
from config.common.background.work import BackgroundWork, get_work

log = structlog.get_logger(__name__)

CHANNEL = "postern_work"
TASK = "run_work"
SILENCE_SECONDS = 5.0
BROKER_SECONDS = 2.0
COALESCE_SECONDS = 0.05
# A ring that no worker has taken by then is worthless: the scheduler has long done the work.
RING_LIFE_SECONDS = 30

RINGS = Counter("postern_rings", "Rings passed on", ["way", "outcome"])


def ring(name: str) -> None:
    """Wake the work of that name once the current transaction has committed."""
    work = get_work(name)

    # Not a partial: Django names the function when it logs a failure, and a partial has no name.
    def wake() -> None:
        if _is_for_workers(work) or not _wake_scheduler_here(work.name):
            _bell.get().add(work)

    transaction.on_commit(wake, robust=True)


def set_local_wake(wake: Callable[[str], None] | None) -> None:
    """Register how to wake the scheduler of this process directly; None unregisters it."""
    global _wake_here
    _wake_here = wake


_wake_here: Callable[[str], None] | None = None


def _is_for_workers(work: BackgroundWork) -> bool:
    return work.on_workers and bool(settings.AMQP_URL)


def _wake_scheduler_here(name: str) -> bool:
    if _wake_here is None:
        return False
    _wake_here(name)
    RINGS.labels("here", "sent").inc()
    return True


class _Bell:
    """The names that were left, and the one thread that passes them on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pending: dict[str, BackgroundWork] = {}
        self._has_some = threading.Event()
        self._thread = SupervisedThread("ring", self._run)
        self._workers = _Workers()

    def add(self, work: BackgroundWork) -> None:
        with self._lock:
            self._pending[work.name] = work
            self._thread.start()
        self._has_some.set()

    def _run(self) -> None:
        # Started again after a failure: what was left then must not wait for the next ring.
        self._has_some.set()
        while True:
            self._has_some.wait()
            self._has_some.clear()
            for work in self._take():
                self._forward(work)
            # Names that are left meanwhile share one ring: a thousand commits a second are twenty messages.
            time.sleep(COALESCE_SECONDS)

    def _take(self) -> list[BackgroundWork]:
        with self._lock:
            taken, self._pending = list(self._pending.values()), {}
        return taken

    def _forward(self, work: BackgroundWork) -> None:
        if _is_for_workers(work) and self._workers.ring(work.name):
            return
        if not _wake_scheduler_here(work.name):
            _notify_scheduler(work.name)


class _Workers:
    """The Celery workers, over a connection of the ring's own with short time-outs."""

    def __init__(self) -> None:
        self._connection: Any = None
        self._producer: Any = None
        self._silent_until = 0.0

    def ring(self, name: str) -> bool:
        """Return whether the broker took the ring; after a failure do not even try for a while."""
        if time.monotonic() < self._silent_until:
            return False
        try:
            self._send(name)
        except Exception as error:  # noqa: BLE001  (the client lets through whatever a dying connection raises)
            self._fall_silent(error)
            return False
        RINGS.labels("broker", "sent").inc()
        return True

    def _send(self, name: str) -> None:
        if self._producer is None:
            self._connect()
        current_app.send_task(
            TASK,
            args=[name],
            producer=self._producer,
            retry=False,
            ignore_result=True,
            add_to_parent=False,
            delivery_mode=1,
            expiration=RING_LIFE_SECONDS,
            confirm_timeout=BROKER_SECONDS,
        )

    def _connect(self) -> None:
        """Try once and bound every step by a time-out: a broker may accept the connection and never answer."""
        limits = {
            "max_retries": 0,
            "confirm_publish": True,
            "read_timeout": BROKER_SECONDS,
            "write_timeout": BROKER_SECONDS,
        }
        self._connection = current_app.connection_for_write(
            settings.AMQP_URL, connect_timeout=BROKER_SECONDS, transport_options=limits
        )
        self._producer = current_app.amqp.Producer(self._connection, auto_declare=False)

    def _fall_silent(self, error: Exception) -> None:
        RINGS.labels("broker", "failed").inc()
        log.warning("ring.failed", way="broker", error=repr(error), silent_seconds=SILENCE_SECONDS)
        self._silent_until = time.monotonic() + SILENCE_SECONDS
        connection, self._connection, self._producer = self._connection, None, None
        if connection is not None:
            # Drops the socket; a proper farewell would wait for a broker that may not answer.
            connection.collect()


def _notify_scheduler(name: str) -> None:
    """Wake the scheduler of another process by PostgreSQL; on SQLite it looks by itself soon enough.

    From here and not from the caller's transaction: NOTIFY inside a transaction takes a lock of the whole server at
    its commit, so that commits could no longer be flushed together.
    """
    if connection.vendor != "postgresql":
        return
    try:
        try:
            _notify(name)
        except OperationalError:
            # Celery closes the pool at the end of each task, which is when its rings are passed on.
            connection.close()
            _notify(name)
    except Exception as error:  # noqa: BLE001  (a lost ring is no failure, whatever lost it)
        RINGS.labels("notify", "failed").inc()
        log.warning("ring.failed", way="notify", error=repr(error))
    else:
        RINGS.labels("notify", "sent").inc()
    finally:
        connection.close()


def _notify(name: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, %s)", [CHANNEL, name])


_bell = PerProcess(_Bell)
