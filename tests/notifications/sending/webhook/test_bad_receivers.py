import asyncio
import gzip
import logging
import socket
import time
from pathlib import Path

import aiohttp
import pytest

from notifications.sending.webhook import BODY_BYTES, HEADER_BYTES, HEADERS, open_http_session, post_webhook
from tests.notifications.sending.hostile import Receiver, self_signed
from tests.notifications.sending.webhook.known_names import KnownNames
from tests.notifications.sending.webhook.signed_messages import BODY, LOOPBACK, SECRET, send


class TestPostToBadReceivers:
    async def test_one_that_never_answers_ends_by_the_time_limit(
        self, session: aiohttp.ClientSession, receiver: Receiver
    ) -> None:
        async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            await reader.read()
            receiver.ended.set()

        url = await receiver.open(hang)
        answer = await send(session, url, timeout_seconds=0.2)
        assert (answer.status, answer.error) == (None, "no whole answer within 0.2 s")
        assert 200 <= answer.duration_ms < 1500
        await asyncio.wait_for(receiver.ended.wait(), 60)  # and its connection is closed

    @pytest.mark.parametrize(
        ("first", "drop", "status", "body"),
        [
            (b"", b"H", None, ""),
            (b"HTTP/1.1 200 OK\r\n", b"a: b\r\n", None, ""),
            (b"", b"HTTP/1.1 100 Continue\r\n\r\n", None, ""),
            (b"HTTP/1.1 500 No\r\ncontent-length: 900\r\n\r\n", b"x", 500, "xxx"),
            (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", b"1\r\nx\r\n", 200, "xxx"),
        ],
    )
    async def test_one_that_drips_ends_by_the_time_limit(
        self, session: aiohttp.ClientSession, receiver: Receiver, first: bytes, drop: bytes, status: int, body: str
    ) -> None:
        url = await receiver.open(receiver.drip(first, drop))
        answer = await send(session, url, timeout_seconds=0.3)
        assert (answer.status, answer.body[:3]) == (status, body)
        assert answer.error
        assert answer.duration_ms < 1500

    async def test_ten_megabytes_are_not_fetched(self, session: aiohttp.ClientSession, receiver: Receiver) -> None:
        async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await receiver.hear(reader)
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 10485760\r\n\r\n")
            for _ in range(640):
                writer.write(b"x" * 16_384)
                await writer.drain()
                receiver.sent += 16_384

        url = await receiver.open(pour)
        answer = await send(session, url)
        await asyncio.wait_for(receiver.ended.wait(), 60)
        assert (answer.ok, answer.error, answer.body) == (True, "", "x" * BODY_BYTES)
        assert receiver.sent < 10_485_760

    async def test_nothing_is_inflated(self, session: aiohttp.ClientSession, receiver: Receiver) -> None:
        bomb = gzip.compress(b"\0" * 500_000)
        answer = await send(session, await receiver.open(receiver.answer(200, bomb, content_encoding="gzip")))
        assert (answer.ok, len(answer.body)) == (True, len(bomb.decode("utf-8", "replace")))

    async def test_what_is_kept_can_be_stored_as_text(self, session: aiohttp.ClientSession, receiver: Receiver) -> None:
        answer = await send(session, await receiver.open(receiver.answer(200, b"a\0b\xff\xd0")))
        assert answer.body == "a\ufffdb\ufffd\ufffd"

    async def test_one_that_resets_the_connection(self, session: aiohttp.ClientSession, receiver: Receiver) -> None:
        async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await receiver.hear(reader)
            sock: socket.socket = writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            writer.transport.abort()

        answer = await send(session, await receiver.open(reset))
        assert answer.status is None
        assert answer.error.startswith("the connection ")

    @pytest.mark.parametrize(
        ("headers", "status"),
        [
            (b"a: b\r\n" * HEADERS, 204),
            (b"a: b\r\n" * (HEADERS + 1), None),
            (b"abc: " + b"d" * (HEADER_BYTES - 3) + b"\r\n", 204),
            (b"abc: " + b"d" * (HEADER_BYTES - 2) + b"\r\n", None),
        ],
        ids=["so many", "one more", "so long", "one byte more"],
    )
    async def test_headers_have_a_number_and_a_length(
        self, session: aiohttp.ClientSession, receiver: Receiver, headers: bytes, status: int | None
    ) -> None:
        said = receiver.say(b"HTTP/1.1 204 No\r\n" + headers + b"\r\n")
        answer = await send(session, await receiver.open(said), timeout_seconds=1)
        assert (answer.status, answer.ok) == (status, status is not None)

    @pytest.mark.parametrize(
        ("data", "status"),
        [
            (b"SSH-2.0-OpenSSH_9.2\r\n", None),
            (b"\x16\x03\x01\x00\xa5\x00\x00" * 30, None),
            (b"HTTP/1.1 banana\r\n\r\n", None),
            (b"HTTP/1.1 200 OK\r\nno colon at all\r\n\r\n", None),
            (b"HTTP/1.1 200 OK\r\na: " + b"b" * 100_000 + b"\r\n\r\n", None),
            (b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 500 + b"\r\n", None),
            (b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n", None),
            (b"HTTP/1.1 101 Up\r\nupgrade: x\r\nconnection: upgrade\r\n\r\nabc", 101),
        ],
    )
    async def test_garbage_is_no_success(
        self, session: aiohttp.ClientSession, receiver: Receiver, data: bytes, status: int | None
    ) -> None:
        answer = await send(session, await receiver.open(receiver.say(data)), timeout_seconds=1)
        assert (answer.status, answer.ok) == (status, False)
        assert answer.error
        assert "SSH" not in answer.error

    @pytest.mark.parametrize(
        ("head", "text"), [(b"transfer-encoding: chunked", b"zz\r\nwhat\r\n"), (b"content-length: 100", b"what")]
    )
    async def test_a_2xx_stands_though_its_text_breaks_off(
        self, session: aiohttp.ClientSession, receiver: Receiver, head: bytes, text: bytes
    ) -> None:
        async def break_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await receiver.hear(reader)
            writer.write(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n\r\n")
            await asyncio.sleep(0.1)  # apart: garbage in one piece with the head makes the head garbage too
            writer.write(text)
            await writer.drain()

        answer = await send(session, await receiver.open(break_off), timeout_seconds=0.5)
        assert (answer.status, answer.ok) == (200, True)
        assert answer.error

    async def test_nobody_listens(self, session: aiohttp.ClientSession) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        answer = await send(session, f"http://127.0.0.1:{port}/")
        assert answer.status is None
        assert answer.error.startswith("no connection (")

    async def test_a_name_that_does_not_exist(self) -> None:
        async with open_http_session(LOOPBACK, resolver=KnownNames({})) as session:
            answer = await send(session, "http://nowhere.example/")
        assert (answer.status, answer.error) == (None, "the name nowhere.example was not found (unknown)")

    async def test_a_refused_address_says_what_may_be_set(self) -> None:
        async with open_http_session([]) as session:
            answer = await send(session, "http://127.0.0.1:9/")
        assert answer.error.startswith("127.0.0.1 is refused: it is loopback (127.0.0.0/8); WEBHOOK_ALLOWED_NETWORKS")

    @pytest.mark.parametrize(
        "url", ["http://127.1/", "http://nul\0/", "http://[:::&9]/", "http://" + "a" * 64 + ".example/", "http://a..b/"]
    )
    async def test_a_host_that_cannot_be_called(self, session: aiohttp.ClientSession, url: str) -> None:
        answer = await send(session, url)
        assert answer.status is None
        assert answer.error
        assert "\0" not in answer.error

    async def test_an_untrusted_certificate(
        self, session: aiohttp.ClientSession, receiver: Receiver, tmp_path: Path
    ) -> None:
        answer = await send(session, await receiver.open(receiver.answer(200), self_signed(tmp_path)))
        assert (answer.status, receiver.bodies) == (None, [])
        assert answer.error.startswith("the certificate is not trusted (")

    async def test_plain_http_where_tls_is_expected(self, session: aiohttp.ClientSession, receiver: Receiver) -> None:
        async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        url = await receiver.open(plain)
        answer = await send(session, url.replace("http://", "https://"))
        assert answer.status is None
        assert answer.error

    async def test_a_cancelled_post_stays_cancelled_and_leaves_no_connection(
        self, session: aiohttp.ClientSession, receiver: Receiver
    ) -> None:
        async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await receiver.hear(reader)
            await reader.read()
            receiver.ended.set()

        task = asyncio.create_task(send(session, await receiver.open(hang), timeout_seconds=30))
        await asyncio.wait_for(receiver.heard.wait(), 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(receiver.ended.wait(), 60)

    async def test_a_fault_of_ours_is_not_blamed_on_the_receiver(self, session: aiohttp.ClientSession) -> None:
        with pytest.raises(ValueError, match="webhook secret"):
            await post_webhook(session, "http://127.0.0.1:9/", "msg_1", BODY, ["wrong"])

    async def test_neither_secret_nor_body_is_told(
        self, session: aiohttp.ClientSession, receiver: Receiver, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.DEBUG)
        answers = [
            await send(session, await receiver.open(receiver.say(b"garbage\r\n\r\n"))),
            await send(session, f"http://{SECRET}:x@h/"),
            await send(session, "http://127.0.0.1:9/"),
        ]
        told = caplog.text + "".join(answer.error for answer in answers)
        assert SECRET not in told
        assert "2026-01-01" not in told

    async def test_one_slow_receiver_holds_up_no_other(
        self, session: aiohttp.ClientSession, receiver: Receiver
    ) -> None:
        slow, quick = Receiver(), receiver
        slow_url = await slow.open(slow.drip(b"", b"H"))
        quick_url = await quick.open(quick.answer(200))
        waiting = [asyncio.create_task(send(session, slow_url, timeout_seconds=60)) for _ in range(150)]
        await asyncio.sleep(0.3)
        started = time.monotonic()
        assert (await send(session, quick_url)).ok
        assert time.monotonic() - started < 30
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        slow.close()
