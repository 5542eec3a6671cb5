"""Sensors, clients and signals in bulk, for the benchmarks."""

import time

import pika
from django.db import connection

from config.engines.amqp import connect
from sensors.ingest.signal_queue import EXCHANGE, QUEUE, declare_signal_queue


def make_sensors(count: int, *, first: int = 0, with_clients: bool = False) -> None:
    """Register sensors `s0`, `s1`, … with a state, and one client each where asked."""
    span = [first, first + count - 1]
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO sensors_sensor (id, address, notes, active, heartbeat_timeout) "
            "SELECT 's' || n, 'Street ' || n, '', true, 3600 FROM generate_series(%s, %s) n",
            span,
        )
        cursor.execute(
            "INSERT INTO sensors_sensorstate (sensor_id, value, changed_at, last_at, last_id, seen_at) "
            "SELECT 's' || n, 0, now() - interval '1 day', now() - interval '1 day', '', now() - interval '1 day' "
            "FROM generate_series(%s, %s) n",
            span,
        )
        if with_clients:
            cursor.execute(
                "INSERT INTO notifications_endpoint "
                "(id, url, secret, active, paused, off_reason, failures, is_back) "
                "SELECT n + 1, 'http://127.0.0.1:9/' || n, 'x', true, false, '', 0, false "
                "FROM generate_series(%s, %s) n",
                span,
            )
            cursor.execute(
                "INSERT INTO sensors_client (id, name, endpoint_id, active) "
                "SELECT n + 1, 'client ' || n, n + 1, true FROM generate_series(%s, %s) n",
                span,
            )
            cursor.execute(
                "INSERT INTO sensors_sensorclient (sensor_id, client_id) "
                "SELECT 's' || n, n + 1 FROM generate_series(%s, %s) n",
                span,
            )
        cursor.execute("ANALYZE")


class Feed:
    """Signals of a fleet in the order of time; every call goes on where the last one stopped."""

    def __init__(self, sensors: int, *, change_every: int, first: int = 0) -> None:
        self.sensors = sensors
        self.change_every = change_every
        self._sent = first
        self._values = bytearray(sensors)

    def publish(self, count: int) -> None:
        """Put signals into the queue, one message each."""
        link = connect()
        channel = link.channel()
        declare_signal_queue(channel)
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
        properties = pika.BasicProperties(delivery_mode=1)
        for _ in range(count):
            self._sent += 1
            sensor = self._sent * 7919 % self.sensors
            if self._sent % self.change_every == 0:
                self._values[sensor] ^= 1
            value, number = self._values[sensor], self._sent
            body = f'{{"sensor_id":"s{sensor}","data":{value},"at":"{at}.{number % 1000:03}Z","id":"{number:012}"}}'
            channel.basic_publish(EXCHANGE, "", body.encode(), properties)
        link.close()


def purge() -> None:
    link = connect()
    channel = link.channel()
    declare_signal_queue(channel)
    channel.queue_purge(QUEUE)
    link.close()
