"""The limits at the socket, under a real loop and real sockets."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from config.common.web.limits.shares import Caller, Shares, Standing
from config.runtime import connections, web
from config.runtime.connections import (
    MAX_HEAD_BYTES,
    MAX_HEADERS,
    MAX_PIPELINED,
    MAX_SOCKET_BYTES,
    MAX_URL_BYTES,
    Connection,
    holder_of,
)
from config.runtime.web import make_config

HERE = "127.0.0.1"
A_MOMENT = 0.1
PATIENCE = 10.0
UPGRADE = (
    b"GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)

LARGE, NO_HTTP = b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n", b"\x16\x03\x01\x02\r\n\r\n"


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Answer what was asked: `/large` with more than any buffer holds, `/wait` never."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        while (message := await receive())["type"] == "websocket.receive":
            await send({"type": "websocket.send", "text": str(len(message["bytes"]))})
        return
    body, more = b"", True
    while more and (message := await receive())["type"] == "http.request":
        body, more = body + message["body"], message["more_body"]
    if scope["path"] == "/wait":
        await asyncio.Event().wait()
    answer = b"x" * 30_000_000 if scope["path"] == "/large" else scope["path"].encode() + body
    headers = [(b"content-length", b"%d" % len(answer))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": answer, "more_body": False})


class Served:
    def __init__(self, port: int, state: ServerState) -> None:
        self.port, self.state = port, state

    async def connect(self, source: str = HERE) -> "Line":
        return Line(*await asyncio.open_connection(HERE, self.port, local_addr=(source, 0), limit=2**25))

    async def ask(self, sent: bytes) -> bytes:
        """Send it on a connection of its own; return what comes back until that is closed."""
        line = await self.connect()
        line.write(sent)
        return await line.rest()


class Line:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def write(self, data: bytes) -> None:
        self.writer.write(data)

    async def rest(self) -> bytes:
        """Read until the other side closes, or resets with some of ours unread."""
        got = b""
        try:
            while piece := await asyncio.wait_for(self.reader.read(65536), PATIENCE):
                got += piece
        except ConnectionError:
            pass
        self.writer.close()
        return got


@pytest.fixture
async def served(monkeypatch: pytest.MonkeyPatch, settings: Any) -> AsyncIterator[Served]:
    shares = Shares(20, each=5)
    monkeypatch.setattr(connections, "_connections", lambda: shares)
    for name in ("HEAD_SECONDS", "DRAIN_SECONDS", "STALLED_SECONDS"):
        monkeypatch.setattr(connections, name, 0.3)
    # One address of the loopback network is a proxy; the others are callers.
    settings.FORWARDED_ALLOW_IPS = [HERE]
    monkeypatch.setattr(web, "KEEP_ALIVE_SECONDS", 1)
    config = make_config(app)
    config.load()
    state = ServerState()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(config=config, server_state=state, app_state={}), HERE, 0)
    yield Served(server.sockets[0].getsockname()[1], state)
    server.close()
    for task in list(state.tasks):
        task.cancel()
    await asyncio.gather(*state.tasks, return_exceptions=True)


def head(*headers: bytes, url: bytes = b"/echo", method: bytes = b"GET") -> bytes:
    lines = [method + b" " + url + b" HTTP/1.1", b"Host: a", b"Connection: close", *headers, b"", b""]
    return b"\r\n".join(lines)


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def refusal(answer: bytes) -> tuple[int, str, Any]:
    said = json.loads(answer.partition(b"\r\n\r\n")[2])
    assert b"x-correlation-id: " in answer
    assert b"connection: close" in answer
    return status(answer), said["code"], said["data"].get("limit")


class TestHead:
    async def test_a_url_of_the_limit_is_taken_and_one_byte_more_is_not(self, served: Served) -> None:
        url = b"/".ljust(MAX_URL_BYTES, b"x")
        assert status(await served.ask(head(url=url))) == 200
        assert refusal(await served.ask(head(url=url + b"x"))) == (414, "url_too_long", MAX_URL_BYTES)

    async def test_so_many_headers_are_taken_and_one_more_is_not(self, served: Served) -> None:
        headers = [b"X-%d: 1" % number for number in range(MAX_HEADERS - 2)]
        assert status(await served.ask(head(*headers))) == 200
        assert refusal(await served.ask(head(*headers, b"X: 1"))) == (431, "too_many_headers", MAX_HEADERS)

    async def test_headers_of_the_limit_are_taken_and_one_byte_more_is_not(self, served: Served) -> None:
        rest = MAX_HEAD_BYTES - len("/echo") - len("Host: a\r\nConnection: close\r\nX: \r\n")
        assert status(await served.ask(head(b"X: " + b"v" * rest))) == 200
        found = await served.ask(head(b"X: " + b"v" * (rest + 1)))
        assert refusal(found) == (431, "head_too_large", MAX_HEAD_BYTES)

    @pytest.mark.parametrize("start", [b"GET /", b"GET / HTTP/1.1\r\nX: ", b"GET / HTTP/1.1\r\n" + b"x" * 100])
    async def test_one_that_never_ends_is_cut_off_early(self, served: Served, start: bytes) -> None:
        line = await served.connect()
        line.write(start)
        sent = 0
        while sent < 50_000_000 and not line.writer.is_closing() and not line.reader.at_eof():
            line.write(b"v" * 65536)
            sent += 65536
            try:
                await line.writer.drain()
            except ConnectionError:
                break
        assert sent < 10_000_000, "what the buffers of the system hold"

    async def test_trailers_count_too(self, served: Served) -> None:
        body = b"1\r\nx\r\n0\r\n" + b"".join(b"X-%d: 1\r\n" % number for number in range(200)) + b"\r\n"
        assert await served.ask(head(b"Transfer-Encoding: chunked", method=b"POST") + body) == b""

    async def test_nor_may_one_trailer_or_the_size_of_a_chunk_go_on_for_ever(self, served: Served) -> None:
        for endless in (b"1\r\nx\r\n0\r\nX: " + b"v" * 100_000, b"1;" + b"v" * 100_000):
            assert await served.ask(head(b"Transfer-Encoding: chunked", method=b"POST") + endless) == b""

    async def test_a_body_is_not_counted_as_head(self, served: Served) -> None:
        length = 1_000_000
        answer = await served.ask(head(b"Content-Length: %d" % length, method=b"POST") + b"x" * length)
        assert (status(answer), answer.count(b"x")) == (200, length)

    async def test_what_is_not_http_is_told_so(self, served: Served) -> None:
        assert refusal(await served.ask(NO_HTTP))[:2] == (400, "bad_http")


class TestTime:
    @pytest.mark.parametrize("sent", [b"", b"GET / HT", b"\r\n"])
    async def test_a_head_that_does_not_come_is_not_waited_for(self, served: Served, sent: bytes) -> None:
        assert refusal(await served.ask(sent))[:2] == (408, "head_stalled")

    async def test_drops_buy_no_time(self, served: Served) -> None:
        line = await served.connect()
        began = asyncio.get_running_loop().time()
        for drop in head(*[b"X: y"] * 20)[:-4]:
            line.write(bytes([drop]))
            await asyncio.sleep(0.01)
            if line.reader.at_eof() or line.reader._buffer:  # type: ignore[attr-defined]
                break
        answer = await line.rest()
        # A drop that meets the closed connection resets it, and what was not read yet is lost.
        assert not answer or refusal(answer)[0] == 408
        assert asyncio.get_running_loop().time() - began < PATIENCE

    @pytest.mark.parametrize("sent", [b"", b"GET", b"\r\n"])
    async def test_nor_is_a_further_call_on_the_same_connection(self, served: Served, sent: bytes) -> None:
        line = await served.connect()
        line.write(b"GET /first HTTP/1.1\r\nHost: a\r\n\r\n")
        await asyncio.wait_for(line.reader.readuntil(b"/first"), PATIENCE)
        line.write(sent)
        assert (await line.rest())[:12] == (b"HTTP/1.1 408" if sent else b"")

    async def test_a_call_that_takes_long_is_not_cut_off_by_a_head_behind_it(self, served: Served) -> None:
        line = await served.connect()
        line.write(b"GET /wait HTTP/1.1\r\nHost: a\r\n\r\nGET /")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(line.reader.read(1), 3 * connections.HEAD_SECONDS)
        line.writer.close()

    @pytest.mark.parametrize(
        ("asked", "then", "other"),
        [
            (LARGE, b"", "DRAIN_SECONDS"),
            (LARGE, b"", "STALLED_SECONDS"),
            (LARGE, NO_HTTP, "STALLED_SECONDS"),
            (head(url=b"/large"), b"", "STALLED_SECONDS"),
        ],
        ids=["in the middle of an answer", "between two calls", "before a call that is refused", "at its end"],
    )
    async def test_a_reader_that_stops_is_not_waited_for(
        self, served: Served, asked: bytes, then: bytes, other: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(connections, other, 1000.0)
        line = await served.connect()
        line.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        await _ask_and_stop_reading(served, line, asked)
        line.write(then)
        await assert_soon(lambda: not served.state.connections)
        line.writer.close()

    async def test_one_that_goes_on_has_as_much_time_as_before(
        self, served: Served, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(connections, "STALLED_SECONDS", 1000.0)
        line = await served.connect()
        connection = await _ask_and_stop_reading(served, line, LARGE)
        timer = connection._reader_timer
        assert timer is not None
        line.reader._transport.resume_reading()  # type: ignore[attr-defined]
        await assert_soon(lambda: not connection.flow.write_paused)
        assert timer.cancelled()
        line.writer.close()


class TestNumber:
    async def test_one_address_has_its_share_and_another_its_own(self, served: Served) -> None:
        lines = [await served.connect("127.0.0.2") for _ in range(5)]
        await assert_soon(lambda: len(served.state.connections) == 5)
        surplus = await served.connect("127.0.0.2")
        answer = await surplus.rest()
        assert refusal(answer)[:2] == (503, "busy")
        assert b"retry-after: 1" in answer
        other = await served.connect("127.0.0.3")
        other.write(head())
        assert status(await other.rest()) == 200
        for line in lines:
            line.writer.close()

    async def test_a_closed_one_makes_room(self, served: Served) -> None:
        for _ in range(12):
            line = await served.connect("127.0.0.2")
            line.write(head())
            assert status(await line.rest()) == 200

    async def test_a_proxy_has_all_of_them(self, served: Served) -> None:
        lines = [await served.connect() for _ in range(20)]
        await assert_soon(lambda: len(served.state.connections) == 20)
        assert refusal(await (await served.connect()).rest())[:2] == (503, "busy")
        for line in lines:
            line.writer.close()

    async def test_a_web_socket_counts_until_it_is_closed(self, served: Served) -> None:
        lines = [await served.connect("127.0.0.2") for _ in range(5)]
        for line in lines:
            line.write(UPGRADE)
            assert b" 101 " in await asyncio.wait_for(line.reader.readuntil(b"\r\n\r\n"), PATIENCE)
        assert status(await (await served.connect("127.0.0.2")).rest()) == 503
        for line in lines:
            line.writer.close()
        await assert_soon(lambda: not served.state.connections)
        line = await served.connect("127.0.0.2")
        line.write(head())
        assert status(await line.rest()) == 200

    async def test_a_web_socket_is_not_taken_for_a_head_that_does_not_come(self, served: Served) -> None:
        line = await served.connect("127.0.0.2")
        line.write(UPGRADE)
        await asyncio.wait_for(line.reader.readuntil(b"\r\n\r\n"), PATIENCE)
        with pytest.raises(TimeoutError):  # nothing is said, and nothing is closed
            await asyncio.wait_for(line.reader.read(1), 2 * connections.HEAD_SECONDS)
        line.writer.close()

    async def test_so_many_calls_wait_on_one_connection_and_those_behind_are_not_answered(self, served: Served) -> None:
        call = b"GET /%03d HTTP/1.1\r\nHost: a\r\n\r\n"
        answer = await served.ask(b"".join(call % number for number in range(300)))
        assert answer.count(b" 200 OK") == 1 + MAX_PIPELINED
        assert answer.endswith(b"/%03d" % MAX_PIPELINED)


class TestWebSocket:
    async def test_takes_a_message_of_the_limit_and_not_a_byte_more(self, served: Served) -> None:
        line = await served.connect()
        line.write(UPGRADE)
        await asyncio.wait_for(line.reader.readuntil(b"\r\n\r\n"), PATIENCE)
        line.write(_start_of_message(MAX_SOCKET_BYTES) + bytes(MAX_SOCKET_BYTES))
        assert await asyncio.wait_for(line.reader.readexactly(7), PATIENCE) == b"\x81\x05%d" % MAX_SOCKET_BYTES
        line.write(_start_of_message(MAX_SOCKET_BYTES + 1))
        answer = await asyncio.wait_for(line.reader.readexactly(4), PATIENCE)
        assert (answer[:1], int.from_bytes(answer[2:])) == (b"\x88", 1009)
        line.writer.close()


class TestHolderOf:
    @pytest.mark.parametrize(
        ("trusted", "address", "holder"),
        [
            (["10.0.0.0/8"], "10.1.2.3", Caller("10.1.2.3", Standing.CROWD)),
            ("10.0.0.1, 10.0.0.2", "10.0.0.2", Caller("10.0.0.2", Standing.CROWD)),
            ("*", "192.0.2.7", Caller("192.0.2.7", Standing.CROWD)),
            (["10.0.0.0/8"], "192.0.2.7", Caller("192.0.2.7", Standing.KNOWN)),
            ("", "2001:db8::1", Caller("2001:db8::/64", Standing.KNOWN)),
            ("10.0.0.1", "", Caller("unknown", Standing.KNOWN)),
        ],
    )
    def test_is_the_address_unless_many_come_through_it(
        self, trusted: str | list[str], address: str, holder: Caller
    ) -> None:
        config = uvicorn.Config(app, log_config=None, forwarded_allow_ips=trusted)
        assert holder_of(address, config) == holder

    def test_nobody_is_a_proxy_where_none_is_believed(self) -> None:
        config = uvicorn.Config(app, log_config=None, proxy_headers=False, forwarded_allow_ips=["10.0.0.0/8"])
        assert holder_of("10.1.2.3", config).standing is Standing.KNOWN


async def _ask_and_stop_reading(served: Served, line: Line, asked: bytes) -> Connection:
    """Return the connection, to which a large answer was written that nobody reads."""
    line.reader._transport.pause_reading()  # type: ignore[attr-defined]
    line.write(asked)
    await assert_soon(lambda: any(_is_stalled(each) for each in served.state.connections))
    (connection,) = served.state.connections
    assert isinstance(connection, Connection)
    return connection


def _is_stalled(connection: Any) -> bool:
    return bool(connection.flow.write_paused and connection._is_idle)


def _start_of_message(length: int) -> bytes:
    """What stands before the bytes of a message: their number, and a mask that changes nothing."""
    return b"\x82\xff" + length.to_bytes(8) + bytes(4)


async def assert_soon(is_so: Any) -> None:
    async with asyncio.timeout(PATIENCE):
        while not is_so():  # noqa: ASYNC110 (what it waits for has no event)
            await asyncio.sleep(0.01)
