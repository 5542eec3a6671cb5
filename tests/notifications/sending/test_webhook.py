import asyncio
import gzip
import json
import logging
import socket
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from ipaddress import ip_network
from pathlib import Path

import aiohttp
import pytest
from aiohttp.abc import AbstractResolver, ResolveResult
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook

from notifications.sending import webhook
from notifications.sending.guard import ThreadResolver
from notifications.sending.webhook import (
    BODY_BYTES,
    HEADER_BYTES,
    HEADERS,
    RETRY_AFTER_SECONDS,
    TIMEOUT_SECONDS,
    Answer,
    open_http_session,
    parse_retry_after,
    post_webhook,
)
from tests.notifications.sending.hostile import Receiver, self_signed

SECRET = "whsec_" + "QUJD" * 11
OLD_SECRET = "whsec_" + "REVG" * 11
BODY = b'{"version":1,"type":"ping","at":"2026-01-01T00:00:00.000Z"}'
LOOPBACK = [ip_network("127.0.0.0/8")]


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with open_http_session(LOOPBACK) as made:
        yield made


async def _send(session: aiohttp.ClientSession, url: str, *, timeout_seconds: float = 5) -> Answer:
    return await post_webhook(session, url, "msg_1", BODY, [SECRET, OLD_SECRET], timeout_seconds=timeout_seconds)


class TestPost:
    async def test_it_sends_what_the_contract_says(self, session: aiohttp.ClientSession, receiver: Receiver) -> None:
        url = await receiver.open(receiver.answer(200, b"thanks"))
        answer = await _send(session, url)
        head = receiver.heads[0].decode()
        headers = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if line)
        assert head.startswith("POST /hook?a=1 HTTP/1.1\r\n")
        assert (headers["content-type"], headers["user-agent"]) == ("application/json", "postern/1")
        assert (headers["accept-encoding"], headers["webhook-id"]) == ("identity", "msg_1")
        assert receiver.bodies == [BODY]
        assert (answer.ok, answer.status, answer.body, answer.error) == (True, 200, "thanks", "")
        assert 0 <= answer.duration_ms < 5000

    async def test_the_receiver_verifies_it_with_either_secret(
        self, session: aiohttp.ClientSession, receiver: Receiver
    ) -> None:
        await _send(session, await receiver.open(receiver.answer(200)))
        lines = receiver.heads[0].decode().split("\r\n")[1:]
        headers = dict(line.split(": ", 1) for line in lines if line)
        for secret in (SECRET, OLD_SECRET):
            assert Webhook(secret).verify(receiver.bodies[0], headers) == json.loads(BODY)

    @pytest.mark.parametrize(
        ("status", "ok", "error"),
        [
            (200, True, ""),
            (201, True, ""),
            (204, True, ""),
            (299, True, ""),
            (304, False, "answered 304: redirects are not followed, the client needs its final URL"),
            (400, False, "answered 400"),
            (410, False, "answered 410"),
            (500, False, "answered 500"),
            (599, False, "answered 599"),
        ],
    )
    async def test_only_2xx_succeeds(
        self, session: aiohttp.ClientSession, receiver: Receiver, status: int, ok: bool, error: str
    ) -> None:
        answer = await _send(session, await receiver.open(receiver.answer(status)))
        assert (answer.status, answer.ok, answer.error) == (status, ok, error)

    @pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
    async def test_a_redirect_is_not_followed(
        self, session: aiohttp.ClientSession, receiver: Receiver, status: int
    ) -> None:
        answer = await _send(session, await receiver.open(receiver.answer(status, location="/elsewhere")))
        assert (answer.status, answer.ok, len(receiver.heads)) == (status, False, 1)
        assert answer.error.startswith(f"answered {status}: redirects are not followed")

    @pytest.mark.parametrize("status", [429, 503])
    async def test_retry_after_is_read_as_seconds_and_as_a_date(
        self, session: aiohttp.ClientSession, receiver: Receiver, status: int
    ) -> None:
        date = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
        in_seconds = await _send(session, await receiver.open(receiver.answer(status, retry_after="120")))
        by_date = await _send(session, await receiver.open(receiver.answer(status, retry_after=date)))
        assert (in_seconds.status, in_seconds.ok, in_seconds.retry_after) == (status, False, 120)
        assert 85 < by_date.retry_after <= 90

    async def test_connections_are_kept(self, session: aiohttp.ClientSession, receiver: Receiver) -> None:
        url = await receiver.open(receiver.answer(200, b"x" * BODY_BYTES))
        for _ in range(5):
            assert (await _send(session, url)).ok
        assert (receiver.connections, len(receiver.bodies)) == (1, 5)

    async def test_no_cookie_is_kept(self, receiver: Receiver) -> None:
        url = await receiver.open(receiver.answer(200, set_cookie="session=1; Path=/"))
        async with open_http_session(LOOPBACK, resolver=_Names({"receiver.example": "127.0.0.1"})) as session:
            for _ in range(2):  # by a name: an address would have none kept in any case
                await _send(session, url.replace("127.0.0.1", "receiver.example"))
        assert len(receiver.heads) == 2
        assert b"cookie" not in receiver.heads[1].lower()

    async def test_the_environment_gives_no_credentials(
        self, session: aiohttp.ClientSession, receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "netrc").write_text("machine 127.0.0.1 login user password secret\n")
        monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
        await _send(session, await receiver.open(receiver.answer(200)))
        assert b"authorization" not in receiver.heads[0].lower()


class TestLease:
    """A message leaves under a lease: whoever comes too late sends nothing."""

    @pytest.fixture
    def clock(self, monkeypatch: pytest.MonkeyPatch) -> list[float]:
        """What the clock of leases says, one reading after the other; the last one stays."""
        readings = [100.0]
        monkeypatch.setattr(webhook, "lease_clock", lambda: readings.pop(0) if len(readings) > 1 else readings[0])
        return readings

    @pytest.mark.parametrize("readings", [[100.0], [70.0, 100.0], [98.5, 100.0]], ids=["before", "while", "shortly"])
    async def test_nothing_leaves_after_its_end(
        self, readings: list[float], clock: list[float], session: aiohttp.ClientSession, receiver: Receiver
    ) -> None:
        """Also when it ends while the connection is made: the process may have been stopped there."""
        clock[:] = readings
        url = await receiver.open(receiver.answer(200, b""))
        with pytest.raises(webhook.ClaimLapsed):
            await post_webhook(session, url, "msg_1", BODY, [SECRET], until=100.0)
        assert receiver.heads == []

    async def test_a_call_ends_before_it_does(
        self, clock: list[float], session: aiohttp.ClientSession, receiver: Receiver
    ) -> None:
        async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()

        clock[:] = [98.4]
        url = await receiver.open(hang)
        answer = await post_webhook(session, url, "msg_1", BODY, [SECRET], until=100.0)
        assert answer.error == "no whole answer within 1.5 s"


class TestPostToBadReceivers:
    async def test_one_that_never_answers_ends_by_the_time_limit(
        self, session: aiohttp.ClientSession, receiver: Receiver
    ) -> None:
        async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            await reader.read()
            receiver.ended.set()

        url = await receiver.open(hang)
        answer = await _send(session, url, timeout_seconds=0.2)
        assert (answer.status, answer.error) == (None, "no whole answer within 0.2 s")
        assert 200 <= answer.duration_ms < 1500
        await asyncio.wait_for(receiver.ended.wait(), 5)  # and its connection is closed

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
        answer = await _send(session, url, timeout_seconds=0.3)
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
        answer = await _send(session, url)
        await asyncio.wait_for(receiver.ended.wait(), 5)
        assert (answer.ok, answer.error, answer.body) == (True, "", "x" * BODY_BYTES)
        assert receiver.sent < 10_485_760

    async def test_nothing_is_inflated(self, session: aiohttp.ClientSession, receiver: Receiver) -> None:
        bomb = gzip.compress(b"\0" * 500_000)
        answer = await _send(session, await receiver.open(receiver.answer(200, bomb, content_encoding="gzip")))
        assert (answer.ok, len(answer.body)) == (True, len(bomb.decode("utf-8", "replace")))

    async def test_what_is_kept_can_be_stored_as_text(self, session: aiohttp.ClientSession, receiver: Receiver) -> None:
        answer = await _send(session, await receiver.open(receiver.answer(200, b"a\0b\xff\xd0")))
        assert answer.body == "a\ufffdb\ufffd\ufffd"

    async def test_one_that_resets_the_connection(self, session: aiohttp.ClientSession, receiver: Receiver) -> None:
        async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await receiver.hear(reader)
            sock: socket.socket = writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            writer.transport.abort()

        answer = await _send(session, await receiver.open(reset))
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
        answer = await _send(session, await receiver.open(said), timeout_seconds=1)
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
        answer = await _send(session, await receiver.open(receiver.say(data)), timeout_seconds=1)
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

        answer = await _send(session, await receiver.open(break_off), timeout_seconds=0.5)
        assert (answer.status, answer.ok) == (200, True)
        assert answer.error

    async def test_nobody_listens(self, session: aiohttp.ClientSession) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        answer = await _send(session, f"http://127.0.0.1:{port}/")
        assert answer.status is None
        assert answer.error.startswith("no connection (")

    async def test_a_name_that_does_not_exist(self) -> None:
        async with open_http_session(LOOPBACK, resolver=_Names({})) as session:
            answer = await _send(session, "http://nowhere.example/")
        assert (answer.status, answer.error) == (None, "the name nowhere.example was not found (unknown)")

    async def test_a_refused_address_says_what_may_be_set(self) -> None:
        async with open_http_session([]) as session:
            answer = await _send(session, "http://127.0.0.1:9/")
        assert answer.error.startswith("127.0.0.1 is refused: it is loopback (127.0.0.0/8); WEBHOOK_ALLOWED_NETWORKS")

    @pytest.mark.parametrize(
        "url", ["http://127.1/", "http://nul\0/", "http://[:::&9]/", "http://" + "a" * 64 + ".example/", "http://a..b/"]
    )
    async def test_a_host_that_cannot_be_called(self, session: aiohttp.ClientSession, url: str) -> None:
        answer = await _send(session, url)
        assert answer.status is None
        assert answer.error
        assert "\0" not in answer.error

    async def test_an_untrusted_certificate(
        self, session: aiohttp.ClientSession, receiver: Receiver, tmp_path: Path
    ) -> None:
        answer = await _send(session, await receiver.open(receiver.answer(200), self_signed(tmp_path)))
        assert (answer.status, receiver.bodies) == (None, [])
        assert answer.error.startswith("the certificate is not trusted (")

    async def test_plain_http_where_tls_is_expected(self, session: aiohttp.ClientSession, receiver: Receiver) -> None:
        async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        url = await receiver.open(plain)
        answer = await _send(session, url.replace("http://", "https://"))
        assert answer.status is None
        assert answer.error

    async def test_a_cancelled_post_stays_cancelled_and_leaves_no_connection(
        self, session: aiohttp.ClientSession, receiver: Receiver
    ) -> None:
        async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await receiver.hear(reader)
            await reader.read()
            receiver.ended.set()

        task = asyncio.create_task(_send(session, await receiver.open(hang), timeout_seconds=30))
        await asyncio.wait_for(receiver.heard.wait(), 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(receiver.ended.wait(), 5)

    async def test_a_fault_of_ours_is_not_blamed_on_the_receiver(self, session: aiohttp.ClientSession) -> None:
        with pytest.raises(ValueError, match="webhook secret"):
            await post_webhook(session, "http://127.0.0.1:9/", "msg_1", BODY, ["wrong"])

    async def test_neither_secret_nor_body_is_told(
        self, session: aiohttp.ClientSession, receiver: Receiver, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.DEBUG)
        answers = [
            await _send(session, await receiver.open(receiver.say(b"garbage\r\n\r\n"))),
            await _send(session, f"http://{SECRET}:x@h/"),
            await _send(session, "http://127.0.0.1:9/"),
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
        waiting = [asyncio.create_task(_send(session, slow_url, timeout_seconds=3)) for _ in range(150)]
        await asyncio.sleep(0.3)
        started = time.monotonic()
        assert (await _send(session, quick_url)).ok
        assert time.monotonic() - started < 1
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        slow.close()


DATE_PARTS = [
    "Thu,",
    "01",
    "99",
    "Jan",
    "2026",
    "0000",
    "-1",
    "00:01:30",
    "24:61:61",
    ":",
    "GMT",
    "-9999",
    "(",
    ",",
    ".",
]


class TestParseRetryAfter:
    AT = datetime(2026, 1, 1, tzinfo=UTC).timestamp()

    @pytest.mark.parametrize(
        ("value", "seconds"),
        [
            (None, None),
            ("", None),
            ("soon", None),
            ("-5", None),
            ("1.5", None),
            ("٣", None),
            ("0", 0),
            (" 30 ", 30),
            ("999999999", RETRY_AFTER_SECONDS),
            ("9" * 5000, RETRY_AFTER_SECONDS),
            ("Thu, 01 Jan 2026 00:01:30 GMT", 90),
            ("Thursday, 01-Jan-26 00:01:30 GMT", 90),
            ("Thu Jan  1 00:01:30 2026", 90),
            ("Thu, 01 Jan 2026 00:01:30 -0000", 90),
            ("Wed, 31 Dec 2025 23:59:59 GMT", 0),
            ("Fri, 01 Jan 2027 00:00:00 GMT", RETRY_AFTER_SECONDS),
            ("Thu, 01 Jan 99999999999999999999 00:00:00 GMT", None),
            ("Thu, 01 Jan 2026 00:01:30 +9999", None),
        ],
    )
    def test_seconds_dates_and_nonsense(self, value: str | None, seconds: float | None) -> None:
        assert parse_retry_after(value, at=self.AT) == seconds

    @given(st.one_of(st.text(), st.lists(st.sampled_from(DATE_PARTS)).map(" ".join)))
    def test_no_text_breaks_it(self, value: str) -> None:
        seconds = parse_retry_after(value, at=self.AT)
        assert seconds is None or 0 <= seconds <= RETRY_AFTER_SECONDS


class TestOpenSession:
    async def test_names_are_looked_up_apart_from_the_loops_threads(self, session: aiohttp.ClientSession) -> None:
        assert isinstance(session.connector, aiohttp.TCPConnector)
        assert isinstance(session.connector._resolver, ThreadResolver)

    def test_a_call_ends_after_ten_seconds_unless_told_otherwise(self) -> None:
        assert TIMEOUT_SECONDS == 10


class _Names(AbstractResolver):
    def __init__(self, known: dict[str, str]) -> None:
        self.known = known

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        if host not in self.known:
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        return [ResolveResult(hostname=host, host=self.known[host], port=port, family=family, proto=0, flags=0)]

    async def close(self) -> None:
        pass
