"""A plain outbox relay, the yardstick of `bench/coordination.py`: `python -m bench.relay publisher|consumer`.

Rows are written with their outbox rows in the same transactions. The publisher reads the outbox in order, publishes
each row as a durable message, and deletes what the broker has confirmed; the consumer writes rows into the second
database and acknowledges them. Both work in batches and are processes of their own, as fast as they can be made simply:
bare psycopg and pika, prepared statements, confirmations and acknowledgements by the batch. A line tells that one is
ready.
"""

import json
import os
import sys
import uuid
from collections.abc import Sequence
from typing import Any

import pika
import psycopg
from pika.adapters.select_connection import SelectConnection
from pika.channel import Channel

QUEUE = "bench.relay"
BATCH = 100
READER = "BENCH_READER_URL"
PAUSE = 0.005

Row = tuple[int, str, str]
"""Of the outbox: its id, and the row that was written as JSON."""


def make_tables() -> None:
    columns = "id bigserial PRIMARY KEY, correlation_id uuid NOT NULL, name varchar(50) NOT NULL"
    with _connect("DATABASE_URL") as writer, _connect(READER) as reader:
        writer.execute(f"CREATE TABLE plain_item ({columns})")
        writer.execute("CREATE TABLE plain_outbox (id bigserial PRIMARY KEY, body jsonb NOT NULL)")
        reader.execute(f"CREATE TABLE plain_item ({columns})")


def write(database: "psycopg.Connection[Any]", names: Sequence[str]) -> None:
    """Insert rows with their outbox rows in one transaction."""
    database.execute(
        "WITH fresh AS (INSERT INTO plain_item (correlation_id, name) SELECT * FROM unnest(%b::uuid[], %b::text[]) "
        "RETURNING *) INSERT INTO plain_outbox (body) SELECT to_jsonb(fresh) FROM fresh",
        [[uuid.uuid4() for _ in names], list(names)],
        prepare=True,
    )


def open_writer() -> "psycopg.Connection[Any]":
    return _connect("DATABASE_URL")


def count_arrived() -> int:
    with _connect(READER) as reader:
        return int(reader.execute("SELECT count(*) FROM plain_item").fetchall()[0][0])


def publish() -> None:
    """Relay until the process is ended."""
    connection = SelectConnection(
        pika.URLParameters(os.environ["AMQP_URL"]),
        on_open_callback=lambda link: link.channel(on_open_callback=_begin),
    )
    connection.ioloop.start()


def _begin(channel: Channel) -> None:
    relay = _Relay(channel)
    channel.queue_declare(QUEUE, durable=True)
    channel.confirm_delivery(relay.confirm, callback=lambda _: relay.turn())
    print("ready", flush=True)


class _Relay:
    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._database = _connect("DATABASE_URL")
        self._rows: list[int] = []
        self._sent = self._confirmed = 0

    def turn(self) -> None:
        """Publish the next rows of the outbox; what was confirmed before is gone from it."""
        rows = self._database.execute(
            "SELECT id, body::text FROM plain_outbox ORDER BY id LIMIT %b", [BATCH], prepare=True
        ).fetchall()
        self._rows = [row[0] for row in rows]
        properties = pika.BasicProperties(delivery_mode=2)
        for _, body in rows:
            self._channel.basic_publish("", QUEUE, body.encode(), properties)
        self._sent += len(rows)
        if not rows:
            self._channel.connection.ioloop.call_later(PAUSE, self.turn)

    def confirm(self, frame: Any) -> None:
        assert isinstance(frame.method, pika.spec.Basic.Ack)
        tag = frame.method.delivery_tag
        self._confirmed = max(self._confirmed, tag) if frame.method.multiple else self._confirmed + 1
        if self._confirmed == self._sent:
            self._database.execute("DELETE FROM plain_outbox WHERE id = ANY(%b)", [self._rows], prepare=True)
            self.turn()


def consume() -> None:
    """Write what arrives until the process is ended: whatever has come, a hundred at most."""
    database = _connect(READER)
    link = pika.BlockingConnection(pika.URLParameters(os.environ["AMQP_URL"]))
    channel = link.channel()
    channel.queue_declare(QUEUE, durable=True)
    channel.basic_qos(prefetch_count=2 * BATCH)
    arrived: list[tuple[int, bytes]] = []
    channel.basic_consume(QUEUE, lambda _, method, __, body: arrived.append((method.delivery_tag, body)))
    print("ready", flush=True)
    while True:
        link.process_data_events(time_limit=0 if arrived else 1)
        batch = arrived[:BATCH]
        del arrived[:BATCH]
        if batch:
            _store(database, [json.loads(body) for _, body in batch])
            channel.basic_ack(batch[-1][0], multiple=True)


def _store(database: "psycopg.Connection[Any]", rows: list[dict[str, Any]]) -> None:
    ids, correlation_ids = [row["id"] for row in rows], [uuid.UUID(row["correlation_id"]) for row in rows]
    database.execute(
        "INSERT INTO plain_item (id, correlation_id, name) SELECT * FROM unnest(%b::bigint[], %b::uuid[], %b::text[]) "
        "ON CONFLICT (id) DO UPDATE SET correlation_id = excluded.correlation_id, name = excluded.name",
        [ids, correlation_ids, [row["name"] for row in rows]],
        prepare=True,
    )


def _connect(variable: str) -> "psycopg.Connection[Any]":
    return psycopg.connect(os.environ[variable], autocommit=True)


if __name__ == "__main__":
    {"publisher": publish, "consumer": consume}[sys.argv[1]]()
