"""The client's side of the demonstration: takes webhooks, and is now and then unable to."""

import http.server
import random
import socket

FAILS = 0.05


class _Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(500 if random.random() < FAILS else 204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the product keeps a record of each attempt."""


def find_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def receive(port: int) -> None:
    """Serve on the loopback until the process ends."""
    http.server.ThreadingHTTPServer(("127.0.0.1", port), _Hook).serve_forever()
