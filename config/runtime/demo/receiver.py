"""The clients of the demonstration: one takes webhooks, one is away for a part of every minute, one never can."""

import http.server
import random
import socket
import time

FAILS = 0.05
AWAY_SECONDS, EVERY_SECONDS = 25, 70
"""For so long of every such time the second client answers 503."""
HEALTHY, RECOVERING, FAILING = "/hook", "/patrol", "/archive"


class _Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(answer_to(self.path, at=time.time(), chance=random.random()))
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the product keeps a record of each attempt."""


def answer_to(path: str, *, at: float, chance: float) -> int:
    """Return the status that the receiver of this path answers at this time."""
    if path == FAILING:
        return 500
    if path == RECOVERING:
        return 503 if at % EVERY_SECONDS < AWAY_SECONDS else 204
    return 500 if chance < FAILS else 204


def find_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def receive(port: int) -> None:
    """Serve on the loopback until the process ends."""
    http.server.ThreadingHTTPServer(("127.0.0.1", port), _Hook).serve_forever()
