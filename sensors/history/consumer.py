"""Move the batches of the queue into history: gather, insert, acknowledge. In that order.

Messages are fetched one by one, not pushed: they hold one signal or thousands, so a prefetch counted in messages would
either starve the inserts or have no bound in memory. Nothing is held unacknowledged for longer than a batch is gathered
and inserted; when the store is away everything goes back to the queue, only the connection is kept alive, and what is
too much for the broker is moved into the database.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass, field

import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connections
from pika.adapters.blocking_connection import BlockingChannel, BlockingConnection
from pika.exceptions import AMQPError

from config.common.database.failures import is_database_away
from config.engines.amqp import connect
from config.engines.amqp_messages import AmqpMessage, read_message
from notifications.services.poison import handle_redelivered
from sensors.history.errors import HistoryAway
from sensors.history.overflow import move_overflow
from sensors.history.queue import QUEUE, BadBatch, declare_history_queue, decode_batch, unreadable_batch
from sensors.history.store import get_store
from sensors.history.write import write_signals
from sensors.ingest.signals import Rejection, Signal

TURN_SECONDS = 1.0
REST_SECONDS = 5.0
BYTES_OF_A_SIGNAL = 50

log = structlog.get_logger(__name__)


@dataclass
class Batch:
    """Messages that have been fetched and not yet acknowledged."""

    signals: list[Signal] = field(default_factory=list)
    unreadable: list[Rejection] = field(default_factory=list)
    redelivered: list[AmqpMessage] = field(default_factory=list)
    """Not parsed yet: another consumer had them before and failed, or died."""
    redelivered_bytes: int = 0
    last_tag: int = 0
    begun: float = 0.0

    def add(self, message: AmqpMessage) -> None:
        if not self.last_tag:
            self.begun = time.monotonic()
        self.last_tag = message.tag
        if message.was_delivered:
            self.redelivered.append(message)
            self.redelivered_bytes += len(message.body)
        else:
            self.read(message.body)

    def read(self, body: bytes) -> None:
        try:
            self.signals += decode_batch(body)
        except BadBatch as error:
            self.unreadable.append(unreadable_batch(body, error))

    @property
    def is_full(self) -> bool:
        about = len(self.signals) + self.redelivered_bytes // BYTES_OF_A_SIGNAL
        return about >= settings.HISTORY_BATCH

    @property
    def is_ripe(self) -> bool:
        old = time.monotonic() - self.begun >= settings.HISTORY_SECONDS
        return bool(self.last_tag) and (old or self.is_full)


class HistoryConsumer:
    """One writer of history on one connection, for one thread. Several writers at once are normal."""

    def __init__(self, queue: str = QUEUE) -> None:
        self._queue = queue
        self._connection: BlockingConnection | None = None
        self._batch = Batch()
        self._is_away = False
        self._resting_until = 0.0

    def run_once(self) -> bool:
        """Fetch for a second, and write what is ready; return whether to be called again at once."""
        try:
            channel = self._open()
            if self._is_away and not self._is_back(channel):
                return move_overflow(channel, self._queue)
            has_more = self._fetch(channel)
            if not self._batch.is_ripe:
                return has_more
            self._write(channel)
        except (AMQPError, OSError) as error:
            log.warning("history.disconnected", error=repr(error))
            self.close()
            return False
        except BaseException:
            # What was fetched must not stay on the channel: a later acknowledgement would cover it, unwritten.
            self.close()
            raise
        return True

    def close(self) -> None:
        """Close the connection; the broker delivers again what was not acknowledged."""
        connection, self._connection = self._connection, None
        self._batch = Batch()
        if connection is None:
            return
        try:
            connection.close()
        except (AMQPError, OSError) as error:
            log.info("history.closed", error=repr(error))

    def _open(self) -> BlockingChannel:
        if self._connection is None:
            self._connection = connect()
            self._channel = self._connection.channel()
            declare_history_queue(self._channel, self._queue)
        return self._channel

    def _is_back(self, channel: BlockingChannel) -> bool:
        """Return whether the store answers again; it is asked every few seconds. Keeps the connection alive."""
        if time.monotonic() < self._resting_until:
            channel.connection.process_data_events(0)
            return False
        try:
            _wait_for(_start(get_store().prepare), channel.connection)
        except HistoryAway:
            self._resting_until = time.monotonic() + REST_SECONDS
        else:
            self._is_away = False
        return not self._is_away

    def _fetch(self, channel: BlockingChannel) -> bool:
        """Fetch until the batch is full, the queue empty or the turn over; return whether there may be more."""
        until = time.monotonic() + TURN_SECONDS
        while not self._batch.is_full and time.monotonic() < until:
            method, properties, body = channel.basic_get(self._queue)
            if method is None:
                return False
            self._batch.add(read_message(self._queue, method, properties, body))
        return True

    def _write(self, channel: BlockingChannel) -> None:
        batch, self._batch = self._batch, Batch()
        try:
            _wait_for(_start(lambda: _write_batch(batch)), channel.connection)
        except HistoryAway:
            log.warning("history.waits", signals=len(batch.signals))
            # The whole batch back into the queue: another writer, or the overflow, may take it meanwhile.
            channel.basic_nack(batch.last_tag, multiple=True, requeue=True)
            self._is_away, self._resting_until = True, time.monotonic() + REST_SECONDS
        else:
            channel.basic_ack(batch.last_tag, multiple=True)


def _write_batch(batch: Batch) -> None:
    if batch.redelivered:
        try:
            handle_redelivered(batch.redelivered, _write_messages, away=HistoryAway)
        except (DatabaseError, InterfaceError) as error:
            if not is_database_away(error):
                raise
            raise HistoryAway from error
    if batch.signals or batch.unreadable:
        write_signals(get_store(), batch.signals, batch.unreadable)


def _write_messages(messages: list[AmqpMessage]) -> None:
    batch = Batch()
    for message in messages:
        batch.read(message.body)
    write_signals(get_store(), batch.signals, batch.unreadable)


def _start(work: Callable[[], None]) -> "Future[None]":
    """Run work with the store in a daemon thread: a process that is asked to end does not wait for it."""
    outcome: Future[None] = Future()

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001  (raised again by whoever waits)
            outcome.set_exception(error)
        else:
            outcome.set_result(None)
        finally:
            connections.close_all()

    threading.Thread(target=run, name="history-writer", daemon=True).start()
    return outcome


def _wait_for(outcome: "Future[None]", connection: BlockingConnection) -> None:
    """Wait for the outcome while keeping the connection alive; where that is lost, wait for the work to end first."""

    def wake() -> None:
        try:
            connection.add_callback_threadsafe(lambda: None)
        except AMQPError as error:
            log.info("history.connection_gone", error=repr(error))

    outcome.add_done_callback(lambda _: wake())
    try:
        while not outcome.done():
            connection.process_data_events(time_limit=1.0)
    finally:
        wait([outcome])
    outcome.result()
