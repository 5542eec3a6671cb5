"""Ingest over REST: signals a second accepted by `POST /signals/` in lists of 500, against the consumer's own pace.

One web process as the product runs it, with RabbitMQ behind it, and two callers that keep their connections.
"""

import http.client
import json
import os
import subprocess
import sys
import threading
import time
from urllib.parse import urlsplit

from bench.figure import Figure, compare
from bench.fleet import Feed, make_sensors, purge
from bench.ingest import SENSORS, SIGNALS, consume_all, wait_for
from config.access.keys import create_key

LIST, CALLERS = 500, 2


def figures() -> list[Figure]:
    make_sensors(SENSORS)
    key = create_key(name="bench", actor="bench", scopes=["signals:write"])[1]
    feed = Feed(SENSORS, change_every=100)
    server = _Server()
    try:
        return [
            compare(
                "ingest, REST",
                "signals/s",
                ours=lambda: _post_all(server, key),
                yardstick=lambda: _consume(feed),
                must=0.5,
                aims=1,
            )
        ]
    finally:
        server.stop()


def _consume(feed: Feed) -> float:
    purge()
    feed.publish(SIGNALS)
    began = time.perf_counter()
    consume_all()
    return SIGNALS / (time.perf_counter() - began)


def _post_all(server: "_Server", key: str) -> float:
    purge()
    callers = [threading.Thread(target=_post, args=(server, key, number)) for number in range(CALLERS)]
    began = time.perf_counter()
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    return SIGNALS / (time.perf_counter() - began)


def _post(server: "_Server", key: str, number: int) -> None:
    link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    for start in range(number * LIST, SIGNALS, CALLERS * LIST):
        body = json.dumps([{"sensor_id": f"s{n * 7919 % SENSORS}", "data": 0} for n in range(start, start + LIST)])
        link.request("POST", "/api/v1/signals/", body, headers)
        answer = link.getresponse()
        accepted = json.loads(answer.read())
        assert accepted == {"accepted": LIST, "rejected": []}, accepted
    link.close()


class _Server:
    def __init__(self) -> None:
        self.port = urlsplit(os.environ.get("BENCH_URL", "http://127.0.0.1:18080")).port or 18080
        self._process = subprocess.Popen(
            [sys.executable, "manage.py", "run_web"], env=os.environ | {"PORT": str(self.port)}
        )
        wait_for(self._answers)

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(20)

    def _answers(self) -> bool:
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            link.request("GET", "/healthz")
            return link.getresponse().status == 200
        except OSError:
            return False
        finally:
            link.close()
