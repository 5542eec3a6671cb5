"""The limits under a real server and a real socket."""

import json
import select
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from config.runtime.web import answers
from tests.config.api.sample.server import HERE, Server, serve
from tests.faults.wait import wait_until

pytestmark = pytest.mark.slow

SLOTS = 8
OF_STRANGERS = 4


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serve(tmp_path_factory.mktemp("asgi"), WEB_CONCURRENCY=str(SLOTS)) as running:
        yield running


@pytest.fixture(scope="module")
def most_threads(server: Server) -> int:
    """What an idle server has, and the slots of the API."""
    return server.threads() + SLOTS


def stranger(number: int) -> str:
    """An address of this machine that nothing else here calls from."""
    return f"127.0.1.{number + 1}"


@pytest.fixture(scope="module")
def lonely(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose database is not there."""
    with serve(tmp_path_factory.mktemp("lonely"), DATABASE_URL="postgresql://u@127.0.0.1:1/none") as running:
        yield running


class TestBodyLimit:
    def test_three_gigabytes_in_chunks_end_after_the_first_megabyte(self, server: Server) -> None:
        memory = server.memory_mb()
        sent, head, body = _upload(server, "/echo/", total=3 * 1024**3)
        assert head[0].startswith("HTTP/1.1 413")
        assert {"connection: close", "content-type: application/json"} <= set(head)
        assert any(line.startswith("x-correlation-id: ") for line in head)
        assert json.loads(body) == {"code": "too_large", "message": _any_text(body), "data": {"limit": 1024**2}}
        assert sent < 16 * 1024**2, "what has left us is a megabyte, and what the system's buffers hold"
        assert server.memory_mb() - memory < 20
        assert list(server.temporary.iterdir()) == []

    def test_messages_may_be_larger(self, server: Server) -> None:
        answer = server.call("POST", "/api/v1/messages/", body=b"x" * 3 * 1024**2)
        assert (answer.status, json.loads(answer.body)["length"]) == (200, 3 * 1024**2)

    def test_a_chunked_body_below_the_limit_arrives_whole(self, server: Server) -> None:
        _sent, head, body = _upload(server, "/echo/", total=1_000_000)
        assert (head[0], json.loads(body)["length"]) == ("HTTP/1.1 200 OK", 1_000_000)

    def test_an_announced_length_past_the_limit_is_refused_unread(self, server: Server) -> None:
        with server.connect() as line:
            line.sendall(b"POST /echo/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 3221225472\r\n\r\n")
            assert line.recv(12) == b"HTTP/1.1 413"


class TestSlots:
    def test_many_slow_calls_take_no_more_threads_than_slots(self, server: Server, most_threads: int) -> None:
        counted, watching = [0], threading.Event()
        watcher = threading.Thread(target=_watch, args=(server, counted, watching))
        watcher.start()
        with ThreadPoolExecutor(150) as callers:
            slow = partial(server.get, "/api/v1/slow/1.5/")
            answers = list(callers.map(lambda number: slow(source=stranger(number % 10)), range(150)))
            during = server.get("/healthz").status
        watching.set()
        watcher.join()
        statuses = Counter(answer.status for answer in answers)
        refused = next(answer for answer in answers if answer.status == 503)
        assert statuses[200] >= OF_STRANGERS
        assert set(statuses) == {200, 503}
        assert (refused.headers["retry-after"], json.loads(refused.body)["code"]) == ("1", "busy")
        assert during == 200
        assert most_threads - SLOTS < max(counted) <= most_threads

    def test_callers_that_hang_up_take_no_more_threads_either(self, server: Server, most_threads: int) -> None:
        counted = []
        for _ in range(10):
            for line in [_ask(server, "/api/v1/slow/0.5/") for _ in range(15)]:
                line.close()
            counted.append(server.threads())
        assert max(counted) <= most_threads
        assert wait_until(lambda: server.get("/api/v1/slow/0/").status == 200, 60), "what they asked for is worked off"

    def test_health_and_pages_are_answered_while_all_slots_of_the_api_are_taken(self, server: Server) -> None:
        with slow_calls(server, [stranger(number) for number in range(OF_STRANGERS)]) as answers:
            statuses = [server.get(path).status for path in ("/healthz", "/echo/", "/api/v1/echo/")]
        assert (statuses, set(answers)) == ([200, 200, 503], {b"HTTP/1.1 200"})

    def test_one_address_leaves_slots_for_another(self, server: Server) -> None:
        with slow_calls(server, [HERE] * 3 * SLOTS) as answers:
            assert server.get("/api/v1/echo/", source=stranger(1)).status == 200
        assert set(answers) == {b"HTTP/1.1 200", b"HTTP/1.1 503"}


class TestDrops:
    def test_bodies_that_drip_hold_no_slot(self, server: Server) -> None:
        head = b"POST /api/v1/echo/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n"
        with ExitStack() as stack:
            for _ in range(5 * SLOTS):
                stack.enter_context(server.connect()).sendall(head + b"x")
            assert [server.get("/api/v1/echo/").status for _ in range(5)] == [200] * 5

    @pytest.mark.parametrize("path", ["/api/v1/endless/", "/api/v1/large/10000000/"])
    def test_readers_that_stop_hold_none_either(self, server: Server, path: str) -> None:
        with ExitStack() as stack:
            lines = [stack.enter_context(_ask(server, path)) for _ in range(2 * SLOTS)]
            for line in lines:
                with suppress(TimeoutError):
                    line.settimeout(1.5)
                    line.recv(1)
            assert [server.get("/api/v1/echo/", source=stranger(1)).status for _ in range(5)] == [200] * 5

    def test_a_stream_goes_on_for_as_long_as_it_is_read(self, server: Server) -> None:
        with _ask(server, "/api/v1/endless/") as line:
            left = 20_000_000
            while left > 0:
                got = len(line.recv(1_000_000))
                assert got, "it was cut off"
                left -= got

    def test_a_stream_that_nobody_reads_is_left_to_itself_and_memory_with_it(self, server: Server) -> None:
        memory = server.memory_mb()
        with ExitStack() as stack:
            for number in range(30):
                line = stack.enter_context(_ask(server, "/api/v1/endless/", stranger(number % 5)))
                line.recv(1)
            assert server.memory_mb() - memory < 60
        assert server.get("/api/v1/echo/").status == 200


class TestHearing:
    def test_is_answered_where_signals_are(self, server: Server) -> None:
        assert answers("127.0.0.1", server.port)

    def test_is_not_where_every_call_of_the_api_is_refused(self, server: Server) -> None:
        """A process of its own knows itself; here it is one of the strangers, who have all their slots taken."""
        with slow_calls(server, [stranger(number) for number in range(OF_STRANGERS)]):
            assert server.get("/healthz").status == 200
            assert not answers("127.0.0.1", server.port)


class TestBytes:
    @pytest.mark.parametrize(
        "start",
        [
            b"GET /%ff%fe%00 HTTP/1.1",
            b"GET /api/v1/%ed%a0%80/ HTTP/1.1",
            b"GET /\xff\xfe HTTP/1.1",
            b"GET /api/v1/groups/?cursor=%ff&limit=\xff HTTP/1.1",
            b"GET /api/v1/groups/?a=%00 HTTP/1.1",
            b"GET http://[::1/ HTTP/1.1",
            b"OPTIONS * HTTP/1.1",
            b"CONNECT 127.0.0.1:80 HTTP/1.1",
            b"GET //\\..//../../etc/passwd HTTP/1.1",
            b"GET /static/../../etc/passwd HTTP/1.1",
            b"GET /static/%2e%2e/%2e%2e/secret_key HTTP/1.1",
            b"BREW /api/v1/groups/ HTTP/1.1",
            b"\x16\x03\x01\x02",
        ],
    )
    @pytest.mark.parametrize(
        "header", [b"X-A: b", b'Cookie: sessionid=\xff"\\000"', b"Host: \xff", b"Content-Type: \xff"]
    )
    def test_never_make_the_server_fail(self, server: Server, start: bytes, header: bytes) -> None:
        with server.connect() as line:
            line.sendall(start + b"\r\nHost: 127.0.0.1\r\nAuthorization: Bearer \xff\r\n" + header + b"\r\n\r\n")
            line.shutdown(socket.SHUT_WR)
            answer = line.recv(12)
        assert answer == b"" or answer[9:10] in (b"2", b"3", b"4")


class TestSockets:
    def test_an_unknown_path_is_refused(self, server: Server) -> None:
        with server.connect() as line:
            line.sendall(
                b"GET /ws/none/ HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
                b"Origin: http://127.0.0.1\r\n\r\n"
            )
            assert line.recv(12) == b"HTTP/1.1 403"


class TestCorrelationId:
    def test_reaches_the_view_and_returns(self, server: Server) -> None:
        answer = server.get("/echo/", {"X-Correlation-ID": "order-4711"})
        assert json.loads(answer.body)["correlation_id"] == answer.headers["x-correlation-id"] == "order-4711"


class TestDatabaseAway:
    def test_a_call_with_a_key_may_come_back_later(self, lonely: Server) -> None:
        key = f"ps_abcdefgh_{'x' * 43}"
        answer = lonely.get("/api/v1/groups/", {"Authorization": f"Bearer {key}"})
        assert (answer.status, answer.headers["retry-after"]) == (503, "5")
        assert json.loads(answer.body)["code"] == "database_away"

    def test_a_page_of_the_admin_says_what_to_do(self, lonely: Server) -> None:
        answer = lonely.get("/admin/", {"Cookie": "sessionid=abcdefghijklmnopqrstuvwxyz012345"})
        assert (answer.status, answer.headers["content-type"]) == (503, "text/html; charset=utf-8")
        assert b"Reload the page" in answer.body

    def test_what_needs_no_database_works(self, lonely: Server) -> None:
        assert lonely.get("/api/v1/schema/").status == 200
        assert lonely.get("/api/v1/nothing/").status == 404


@contextmanager
def slow_calls(server: Server, sources: list[str]) -> Iterator[list[bytes]]:
    """Have a call of three seconds under way from each address; at the end, what all of them were answered."""
    answers: list[bytes] = []
    with ExitStack() as stack:
        lines = [stack.enter_context(_ask(server, "/api/v1/slow/3/", source)) for source in sources]
        yield answers
        answers.extend(line.recv(12) for line in lines)


def _upload(server: Server, path: str, *, total: int) -> tuple[int, list[str], bytes]:
    """Send a chunked body until all of it is gone or an answer arrives; return what was sent and the answer."""
    chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    sent = 0
    with server.connect() as line:
        line.sendall(f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        while sent < total and not select.select([line], [], [], 0)[0]:
            size = min(65536, total - sent)
            line.sendall(chunk if size == 65536 else b"%x\r\n" % size + b"x" * size + b"\r\n")
            sent += size
        if sent == total:
            line.sendall(b"0\r\n\r\n")
        head, _, body = _read(line).partition(b"\r\n\r\n")
    return sent, head.decode().split("\r\n"), body


def _read(line: socket.socket) -> bytes:
    """Read one answer with a length."""
    text = b""
    while b"\r\n\r\n" not in text:
        text += line.recv(65536)
    head, _, body = text.partition(b"\r\n\r\n")
    length = next(int(field.split(b":")[1]) for field in head.lower().split(b"\r\n") if b"content-length:" in field)
    while len(body) < length:
        body += line.recv(65536)
    return head + b"\r\n\r\n" + body


def _ask(server: Server, path: str, source: str = HERE) -> socket.socket:
    line = server.connect(source)
    line.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    return line


def _watch(server: Server, counted: list[int], stop: threading.Event) -> None:
    while not stop.wait(0.05):
        counted.append(server.threads())


def _any_text(body: bytes) -> Any:
    return json.loads(body)["message"]


def test_static_files_are_served_by_name_and_kept_for_ever(tmp_path: Path) -> None:
    static = tmp_path / "data" / "static"
    static.mkdir(parents=True)
    (static / "page.0123456789ab.css").write_text("body {}")
    with serve(tmp_path) as server:
        answer = server.get("/static/page.0123456789ab.css")
        missing = server.get("/static/other.css")
    assert (answer.status, answer.body) == (200, b"body {}")
    assert "immutable" in answer.headers["cache-control"]
    assert "x-correlation-id" in answer.headers
    assert missing.status == 404
