"""Our own processes on the live page: the heartbeat of each, the depth of each queue, the lag of each follower."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.conf import settings
from pika.exceptions import AMQPError, ChannelClosedByBroker

from config.celery import QUEUE as TASKS
from config.common.background.one_at_a_time import OneAtATime, StillRunning
from config.common.database.row_lists import Lists, Questions, Row
from config.engines import amqp
from config.records.models import RunningProcess
from notifications.models import Follower
from processes.workflows.services.events.amqp import QUEUE as WORKFLOWS
from sensors.history.queue import QUEUE as HISTORY
from sensors.ingest.signal_queue import QUEUE as SIGNALS

QUEUES = (SIGNALS, HISTORY, WORKFLOWS, TASKS)
SILENT_AFTER = timedelta(seconds=15)
READ_SECONDS = 2.0
"""For the depths of all queues: a broker may fall silent once it has let a client in."""
MOST_PROCESSES = 40
MOST_FOLLOWERS = 40
GONE_AFTER = timedelta(hours=1)
"""A process that has been silent for so long was taken away for good, on purpose: alerts have told the rest."""

log = structlog.get_logger(__name__)


def ask_own_processes(at: datetime) -> Questions:
    """Return the queries for the processes that were seen within the hour, and for the followers."""
    running = RunningProcess.objects.filter(seen_at__gt=at - GONE_AFTER).order_by("node", "name")
    followers = Follower.objects.order_by("name").values("name", "position", "failures")
    return {
        "running": running.values("pk", "name", "node", "seen_at")[:MOST_PROCESSES],
        "followers": followers[:MOST_FOLLOWERS],
    }


def read_own_processes(
    at: datetime, *, queues: Mapping[str, int] | None, position: int, lists: Lists
) -> dict[str, Any]:
    """Return the part `runtime`: followers lag behind this position, queues are missing until they have been read."""
    queued = [{"key": name, "name": name, "depth": depth} for name, depth in (queues or {}).items()]
    return {
        "processes": [_process(row, at) for row in lists["running"]],
        "followers": [_follower(row, position) for row in lists["followers"]],
        **({} if queues is None else {"queues": queued}),
    }


def read_queues() -> dict[str, int]:
    """Return how many messages lie in each queue of the broker; nothing while it is away or not configured."""
    if not settings.AMQP_URL:
        return {}
    _reading.begin()
    try:
        depths = _reading.wait(READ_SECONDS)
    except (AMQPError, OSError, StillRunning) as error:
        log.info("live.queues_not_read", error=repr(error))
        return {}
    return {name: depth for name, depth in depths.items() if depth is not None}


def _read_depths() -> dict[str, int | None]:
    connection = amqp.connect(seconds=amqp.HEALTH_SECONDS)
    try:
        return {name: _depth(connection, name) for name in QUEUES}
    finally:
        if connection.is_open:
            connection.close()  # which fails too where the broker has just gone


# In a thread of its own: pika waits for a channel until heartbeats are missed, and the page shows what is read here
# together with the engines.
_reading = OneAtATime("queue-depths", _read_depths)


def _depth(connection: Any, name: str) -> int | None:
    """Return the depth of a queue; None where nobody has declared it yet, for which the broker closes the channel."""
    try:
        return int(connection.channel().queue_declare(name, passive=True).method.message_count)
    except ChannelClosedByBroker:
        return None


def _process(row: Row, at: datetime) -> dict[str, Any]:
    return {
        "key": row["pk"],
        "name": row["name"],
        "node": row["node"],
        "state": "silent" if at - row["seen_at"] > SILENT_AFTER else "ok",
        "at": row["seen_at"],
    }


def _follower(row: Row, position: int) -> dict[str, Any]:
    lag = max(0, position - row["position"])
    return {"key": row["name"], "name": row["name"], "lag": lag, "failures": row["failures"]}
