"""Whether calls are served, as the web process asks itself before it says that sensors are heard."""

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from config.runtime.web import answers, listen


class Healthy(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/hearing" else 404)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Be quiet."""


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with listen("0.0.0.0", 0) as bound:
        yield bound


class TestAnswers:
    def test_a_socket_that_is_only_bound_answers_nobody(self, listener: socket.socket) -> None:
        assert not answers(*listener.getsockname())

    def test_nor_does_one_that_is_closed(self, listener: socket.socket) -> None:
        address = listener.getsockname()
        listener.close()
        assert not answers(*address)

    def test_a_server_does_on_whatever_address_it_is_bound_to(self) -> None:
        server = HTTPServer(("0.0.0.0", 0), Healthy)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            assert answers("0.0.0.0", server.server_port)
        finally:
            server.shutdown()
            thread.join()
            server.server_close()
