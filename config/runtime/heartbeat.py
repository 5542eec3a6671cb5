"""Each process says every few seconds that it runs: the live page shows who has fallen silent."""

import os
import socket
import sys
from typing import Any

import structlog
from celery import signals
from django.conf import settings
from django.db.models.functions import Now

from config.common.background.daemon import Daemon, accompany, release_connections
from config.logs import PROCESS_VARIABLE
from config.records.models import RunningProcess

EVERY_SECONDS = 5.0

log = structlog.get_logger(__name__)


class HeartbeatDaemon(Daemon):
    """Keeps the row of this process; in the end it takes the row along, so that only the dead fall silent."""

    def __init__(self) -> None:
        super().__init__(self.beat_once, EVERY_SECONDS, "heartbeat")
        # Named by whoever started the process, by its command, or as the one that does it all.
        command = sys.argv[1] if len(sys.argv) > 1 else ""
        own_name = command.removeprefix("run_") if command[:4] == "run_" else "server"
        name = os.environ.get(PROCESS_VARIABLE) or own_name
        self._row = {"node": f"{socket.gethostname()}:{settings.ENV.port}"[:120], "name": name[:40]}

    def beat_once(self) -> bool:
        """Write that this process runs now. Return False: there is never more to do at once."""
        mine = RunningProcess.objects.filter(**self._row, pid=os.getpid())
        if not mine.update(seen_at=Now()):
            row = RunningProcess(**self._row, pid=os.getpid(), started_at=Now(), seen_at=Now())
            RunningProcess.objects.bulk_create(
                [row],
                update_conflicts=True,
                unique_fields=["node", "name"],
                update_fields=["pid", "started_at", "seen_at"],
            )
        # Celery forks later on: a child must not have this connection to close.
        release_connections(broken=True)
        return False

    def run(self) -> None:
        try:
            super().run()
        finally:
            self._take_back()

    def _take_back(self) -> None:
        try:
            RunningProcess.objects.filter(**self._row, pid=os.getpid()).delete()
        except Exception as error:  # noqa: BLE001  (the process ends, whatever became of its row)
            log.info("heartbeat.not_taken_back", error=str(error))
        finally:
            release_connections(broken=True)


def beat_beside_every_command() -> None:
    """Have every long-lived command of this process keep its row; Celery's have a loop of their own."""
    accompany(HeartbeatDaemon)
    signals.worker_ready.connect(_start, dispatch_uid="heartbeat.worker")
    signals.beat_init.connect(_start, dispatch_uid="heartbeat.beat")
    signals.worker_shutdown.connect(_stop, dispatch_uid="heartbeat.worker_ends")


_of_celery: list[HeartbeatDaemon] = []


def _start(**_: Any) -> None:
    daemon = HeartbeatDaemon()
    _of_celery.append(daemon)
    daemon.start()


def _stop(**_: Any) -> None:
    for daemon in _of_celery:
        daemon.stop()
        daemon.join(1.0)
