"""Consume signals from RabbitMQ: gather a batch, commit it, pass it on to history, acknowledge it. In that order.

A message is acknowledged only after its signals are committed and their batch is confirmed on its way to history, so a
crash anywhere repeats the batch, and the fold makes a repeat harmless. History is written to over a connection of its
own: a confirmation on this one would lie behind all that the broker has pushed, which would be read into memory for it.
A batch that fails for its data is bisected until the culprit is alone, which is recorded as rejected. What is delivered
a second time was with a consumer that failed or died: it is counted before it is read
(`notifications.services.poison`), and parked in the end. While the database is away the messages go back to the queue
and the connection is kept alive; nothing is held for longer than a batch takes.
"""

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

import msgspec
import pika.exceptions
import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connections
from pika.adapters.blocking_connection import BlockingChannel, BlockingConnection
from pika.spec import Basic, BasicProperties
from prometheus_client import Counter

from config.common.correlation import PATTERN
from config.common.database.batches import (
    DatabaseUnavailable,
    database_answers,
    write_or_bisect,
    write_with_retries,
)
from config.common.database.failures import is_database_away
from config.common.text import clean_text
from config.engines.amqp import connect
from config.engines.amqp_messages import AmqpMessage, property_text, read_message
from config.engines.publisher import Publisher, Sent
from notifications.services.poison import handle_redelivered
from sensors.heartbeat.clock import clock
from sensors.heartbeat.ingest_liveness import (
    drop_consumers,
    record_progress,
    register_consumer,
    resume_consumer,
)
from sensors.history.queue import QUEUE as HISTORY
from sensors.history.queue import declare_history_queue, encode_batch
from sensors.ingest.apply import Applied, apply_signals
from sensors.ingest.prefetch import Prefetch
from sensors.ingest.progress import Progress
from sensors.ingest.signal_queue import QUEUE, declare_presence, declare_signal_queue, probe_sent_at
from sensors.ingest.signals import Code, Origin, Rejection, Signal, read_signals

HELD_BATCHES = 3
STALL_SECONDS = 1.0
DATABASE_PAUSE = 1.0
CONFIRMED_WITHIN = 15.0
BYTES_OF_A_SIGNAL = 100

SIGNALS = Counter("postern_signals", "Signals consumed from RabbitMQ", ["outcome"])

log = structlog.get_logger(__name__)


@dataclass
class Batch:
    """Messages that have been received and not yet committed."""

    items: list[Signal | Rejection] = field(default_factory=list)
    redelivered: list[AmqpMessage] = field(default_factory=list)
    probes: list[datetime] = field(default_factory=list)
    proven: datetime | None = None
    """Once this batch is committed, so is all that the broker had handed to this consumer before this time."""
    last_tag: int = 0
    begun: float = 0.0
    messages: int = 0
    size: int = 0
    """In signals; estimated from the bytes of what is large for its signals, or not read yet."""

    def add(self, tag: int, items: list[Signal | Rejection], body: bytes) -> None:
        self._take(tag)
        self.items += items
        self.size += max(len(items), len(body) // BYTES_OF_A_SIGNAL)

    def add_probe(self, tag: int, probe: datetime) -> None:
        self._take(tag)
        self.probes.append(probe)

    def add_redelivered(self, message: AmqpMessage) -> None:
        self._take(message.tag)
        self.redelivered.append(message)
        self.size += 1 + len(message.body) // BYTES_OF_A_SIGNAL

    def _take(self, tag: int) -> None:
        if not self.last_tag:
            self.begun = time.monotonic()
        self.last_tag = tag
        self.messages += 1


class Consumer:
    """One consumer on one connection; `run` returns when asked to stop and raises when the connection is lost.

    A thread commits one batch while this one receives the next: the database and the broker work side by side. Batches
    are committed, passed on and acknowledged one after the other, in the order in which they came.
    """

    def __init__(self, name: str, should_stop: Callable[[], bool]) -> None:
        # A name for each connection: the broker may not have taken back yet what an earlier one of this process held.
        self.name = f"{name}:{os.urandom(4).hex()}"
        self._should_stop = should_stop
        self._batch = Batch()
        self._committing: tuple[Batch, Future[Applied]] | None = None
        self._passing: tuple[Batch, Applied, Sent] | None = None
        self._history = Publisher()

    def run(self) -> None:
        self._connection = connect()
        # One thread: batches are committed in the order in which they came.
        with ThreadPoolExecutor(1, "commit") as self._committer:
            try:
                self._open()
                while not self._should_stop():
                    self._turn()
                self._finish_commit()
                self._finish_passing()
                self._give_back()
                # Last: from here on this consumer has nothing that could hold the watermark back.
                self._committer.submit(drop_consumers, [self.name]).result()
            finally:
                # In the thread that opened them.
                self._committer.submit(connections.close_all)
                self._close()

    def _open(self) -> None:
        self._channel = self._connection.channel()
        declare_signal_queue(self._channel)
        declare_presence(self._channel, self.name)
        self._progress = Progress(self._channel, clock.now)
        declare_history_queue(self._channel)
        self._prefetch = Prefetch(self._channel)
        self._await_database()
        # Before the first delivery: from then on there may be signals that only this consumer has.
        self._committer.submit(register_consumer, self.name).result()
        self._subscribe()

    def _subscribe(self) -> None:
        self._tag = self._channel.basic_consume(QUEUE, self._receive)

    def _turn(self) -> None:
        """Receive for a moment, then begin or finish what is ready; an empty batch moves the watermark."""
        if self._committing is not None and self._batch.size >= HELD_BATCHES * settings.INGEST_BATCH:
            # The database is slow: leave messages in the socket, so that memory does not grow with the backlog.
            wait_for([self._committing[1]], timeout=STALL_SECONDS)
        else:
            self._progress.ask()
            self._connection.process_data_events(time_limit=settings.INGEST_SECONDS / 2)
            # All that was delivered before the answer is in the batch now.
            self._batch.proven = self._progress.take() or self._batch.proven
        if self._passing is not None and self._passing[2].outcome.done():
            self._finish_passing()
        if self._committing is not None and not self._committing[1].done():
            return
        try:
            self._advance()
        except DatabaseUnavailable:
            self._wait_for_database()

    def _advance(self) -> None:
        """Take the outcome of a commit; begin the next one before passing it on, so that the database never waits."""
        committed, self._committing = self._committing, None
        applied = committed[1].result() if committed is not None else None
        if self._is_ripe():
            self._begin_commit()
        if committed is not None and applied is not None:
            self._finish_passing()
            self._pass_on(committed[0], applied)

    def _is_ripe(self) -> bool:
        if not self._batch.last_tag:
            return self._batch.proven is not None
        age = time.monotonic() - self._batch.begun
        return self._batch.size >= settings.INGEST_BATCH or age >= settings.INGEST_SECONDS

    def _receive(
        self, channel: BlockingChannel, method: Basic.Deliver, properties: BasicProperties, body: bytes
    ) -> None:
        probe = probe_sent_at(properties, body)
        if probe is not None:
            self._batch.add_probe(method.delivery_tag, probe)
        elif method.redelivered:
            # Not parsed here: parsing it may be what the consumer before died of.
            self._batch.add_redelivered(read_message(QUEUE, method, properties, body))
        else:
            origin = _origin(properties.message_id, properties.correlation_id, properties.timestamp)
            self._batch.add(method.delivery_tag, read_signals(body, origin), body)

    def _begin_commit(self) -> None:
        batch, self._batch = self._batch, Batch()
        if batch.size:
            self._prefetch.adapt(messages=batch.messages, size=batch.size)
        mark = partial(record_progress, self.name, batch.proven, batch.probes)
        committed = self._committer.submit(commit_batch, batch, also=mark)
        committed.add_done_callback(lambda _: self._wake())
        self._committing = (batch, committed)

    def _wake(self) -> None:
        """End the wait for messages; called from the thread that commits."""
        with suppress(pika.exceptions.ConnectionWrongStateError):  # closed meanwhile: nobody waits
            self._connection.add_callback_threadsafe(_nothing)

    def _finish_commit(self) -> None:
        """Wait for the batch that is being committed, and pass it on."""
        if self._committing is not None:
            (batch, committed), self._committing = self._committing, None
            self._finish_passing()
            self._pass_on(batch, committed.result())

    def _pass_on(self, batch: Batch, applied: Applied) -> None:
        """Publish a committed batch to history; it is acknowledged when that is confirmed."""
        if not applied.accepted:
            self._acknowledge(batch, applied)
            return
        sent = self._history.send(
            encode_batch(applied.accepted),
            exchange="",
            routing_key=HISTORY,
            properties=BasicProperties(delivery_mode=2),
        )
        self._passing = (batch, applied, sent)
        sent.outcome.add_done_callback(lambda _: self._wake())

    def _finish_passing(self) -> None:
        """Wait until the broker has confirmed the batch for history, then acknowledge it; else raise `NotPublished`.

        Batches are passed on one at a time: an acknowledgement covers all that came before it.
        """
        if self._passing is not None:
            batch, applied, sent = self._passing
            sent.await_confirmation(CONFIRMED_WITHIN)
            self._passing = None
            self._acknowledge(batch, applied)

    def _acknowledge(self, batch: Batch, applied: Applied) -> None:
        if batch.last_tag:  # an empty batch has only moved the watermark
            self._channel.basic_ack(batch.last_tag, multiple=True)
        SIGNALS.labels("accepted").inc(len(applied.accepted))
        SIGNALS.labels("rejected").inc(len(applied.refused))

    def _wait_for_database(self) -> None:
        """Give all messages back and keep the connection alive until the database answers; then subscribe again."""
        log.warning("ingest.database_away", consumer=self.name)
        self._finish_passing()
        self._give_back()
        self._await_database()
        if not self._should_stop():
            self._committer.submit(resume_consumer, self.name).result()
            self._subscribe()

    def _await_database(self) -> None:
        while not self._should_stop() and not self._committer.submit(database_answers).result():
            self._connection.sleep(DATABASE_PAUSE)

    def _give_back(self) -> None:
        self._channel.basic_cancel(self._tag)
        # Tag 0 means all that is not acknowledged.
        self._channel.basic_nack(0, multiple=True, requeue=True)
        self._batch = Batch()

    def _close(self) -> None:
        connection: BlockingConnection = self._connection
        self._history.close()
        try:
            connection.close()
        except pika.exceptions.AMQPError as error:
            log.info("ingest.closed", consumer=self.name, error=repr(error))


def commit_batch(batch: Batch, *, also: Callable[[], None]) -> Applied:
    """Apply a batch, redelivered messages first; `also` is called in the last transaction, after all others."""
    if not batch.redelivered:
        return apply_or_bisect(batch.items, also=also)
    try:
        parts = handle_redelivered(batch.redelivered, _apply_messages, away=DatabaseUnavailable)
        parts.append(apply_or_bisect(batch.items, also=also))
    except (DatabaseError, InterfaceError) as error:
        if not is_database_away(error):
            raise
        raise DatabaseUnavailable from error
    accepted = [signal for part in parts for signal in part.accepted]
    refused = [refusal for part in parts for refusal in part.refused.values()]
    return Applied(accepted, dict(enumerate(refused)))


def _apply_messages(messages: list[AmqpMessage]) -> Applied:
    items: list[Signal | Rejection] = []
    for message in messages:
        timestamp = message.properties.get("timestamp")
        origin = _origin(
            message.text("message_id"),
            message.text("correlation_id"),
            timestamp if isinstance(timestamp, int) else None,
        )
        items += read_signals(message.body, origin)
    return apply_or_bisect(items, also=_nothing)


def apply_or_bisect(items: list[Signal | Rejection], *, also: Callable[[], None]) -> Applied:
    """Apply a batch; one that fails for its data is bisected until the culprit is alone, which is recorded as rejected.

    `also` is called in the transaction of the last part.
    """

    def write(part: Sequence[Signal | Rejection], is_last: bool) -> Applied:
        mark = also if is_last else _nothing
        return write_with_retries(lambda: apply_signals(part, also=lambda accepted: mark()))

    def reject(item: Signal | Rejection, error: Exception, is_last: bool) -> Applied:
        raw = item.raw if isinstance(item, Rejection) else msgspec.json.encode(msgspec.structs.asdict(item))
        message = clean_text(f"cannot be stored: {error}", 300)
        sensor_id = clean_text(item.sensor_id, 64)
        refusal = Rejection(0, Code.BAD_SHAPE, message, sensor_id, clean_text(raw, 1024), item.correlation_id)
        return write([refusal], is_last)

    # A value that fits no column is the signal's fault; any other error may be a defect here, and rejects nothing.
    faults = (DatabaseError, ValueError)
    whole, begin = Applied(), 0
    for part, applied in write_or_bisect(items, write, reject, is_of_item=lambda error: isinstance(error, faults)):
        whole.accepted += applied.accepted
        whole.refused |= {begin + place: refusal for place, refusal in applied.refused.items()}
        begin += len(part)
    return whole


def _origin(message_id: str | bytes | None, correlation_id: str | bytes | None, timestamp: int | None) -> Origin:
    chain = property_text(correlation_id)
    return Origin(
        received_at=clock.time_in_milliseconds(),
        message_id=property_text(message_id) or None,
        timestamp=timestamp,
        correlation_id=chain if PATTERN.fullmatch(chain) else "",
    )


def _nothing() -> None:
    """Do nothing, on purpose."""
