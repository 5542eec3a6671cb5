import asyncio
import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import aiohttp
import pytest
from standardwebhooks import Webhook

from notifications.sending import webhook
from notifications.sending.guard import ThreadResolver
from notifications.sending.webhook import BODY_BYTES, TIMEOUT_SECONDS, open_http_session, post_webhook
from tests.notifications.sending.hostile import Receiver
from tests.notifications.sending.webhook.known_names import KnownNames
from tests.notifications.sending.webhook.signed_messages import BODY, LOOPBACK, OLD_SECRET, SECRET, send


class TestPost:
    async def test_it_sends_what_the_contract_says(self, session: aiohttp.ClientSession, receiver: Receiver) -> None:
        url = await receiver.open(receiver.answer(200, b"thanks"))
        answer = await send(session, url)
        head = receiver.heads[0].decode()
        headers = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if line)
        assert head.startswith("POST /hook?a=1 HTTP/1.1\r\n")
        assert (headers["content-type"], headers["user-agent"]) == ("application/json", "postern/1")
        assert (headers["accept-encoding"], headers["webhook-id"]) == ("identity", "msg_1")
        assert receiver.bodies == [BODY]
        assert (answer.ok, answer.status, answer.body, answer.error) == (True, 200, "thanks", "")
        assert 0 <= answer.duration_ms < 5000

    @pytest.mark.parametrize(
        ("chain", "is_sent"), [("call-0001", True), ("", False), ("two\r\nlines-of-it", False), ("x" * 65, False)]
    )
    async def test_the_chain_goes_along_where_a_header_can_carry_it(
        self, session: aiohttp.ClientSession, receiver: Receiver, chain: str, is_sent: bool
    ) -> None:
        url = await receiver.open(receiver.answer(200))
        await post_webhook(session, url, "msg_1", BODY, [SECRET], correlation_id=chain)
        lines = receiver.heads[0].decode().lower().split("\r\n")
        assert [line for line in lines if "correlation" in line] == [f"x-correlation-id: {chain}"] * is_sent

    async def test_the_receiver_verifies_it_with_either_secret(
        self, session: aiohttp.ClientSession, receiver: Receiver
    ) -> None:
        await send(session, await receiver.open(receiver.answer(200)))
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
        answer = await send(session, await receiver.open(receiver.answer(status)))
        assert (answer.status, answer.ok, answer.error) == (status, ok, error)

    @pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
    async def test_a_redirect_is_not_followed(
        self, session: aiohttp.ClientSession, receiver: Receiver, status: int
    ) -> None:
        answer = await send(session, await receiver.open(receiver.answer(status, location="/elsewhere")))
        assert (answer.status, answer.ok, len(receiver.heads)) == (status, False, 1)
        assert answer.error.startswith(f"answered {status}: redirects are not followed")

    @pytest.mark.parametrize("status", [429, 503])
    async def test_retry_after_is_read_as_seconds_and_as_a_date(
        self, session: aiohttp.ClientSession, receiver: Receiver, status: int
    ) -> None:
        date = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
        in_seconds = await send(session, await receiver.open(receiver.answer(status, retry_after="120")))
        by_date = await send(session, await receiver.open(receiver.answer(status, retry_after=date)))
        assert (in_seconds.status, in_seconds.ok, in_seconds.retry_after) == (status, False, 120)
        assert 85 < by_date.retry_after <= 90

    async def test_connections_are_kept(self, session: aiohttp.ClientSession, receiver: Receiver) -> None:
        url = await receiver.open(receiver.answer(200, b"x" * BODY_BYTES))
        for _ in range(5):
            assert (await send(session, url)).ok
        assert (receiver.connections, len(receiver.bodies)) == (1, 5)

    async def test_no_cookie_is_kept(self, receiver: Receiver) -> None:
        url = await receiver.open(receiver.answer(200, set_cookie="session=1; Path=/"))
        async with open_http_session(LOOPBACK, resolver=KnownNames({"receiver.example": "127.0.0.1"})) as session:
            for _ in range(2):  # by a name: an address would have none kept in any case
                await send(session, url.replace("127.0.0.1", "receiver.example"))
        assert len(receiver.heads) == 2
        assert b"cookie" not in receiver.heads[1].lower()

    async def test_the_environment_gives_no_credentials(
        self, session: aiohttp.ClientSession, receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "netrc").write_text("machine 127.0.0.1 login user password secret\n")
        monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
        await send(session, await receiver.open(receiver.answer(200)))
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


class TestOpenSession:
    async def test_names_are_looked_up_apart_from_the_loops_threads(self, session: aiohttp.ClientSession) -> None:
        assert isinstance(session.connector, aiohttp.TCPConnector)
        assert isinstance(session.connector._resolver, ThreadResolver)

    def test_a_call_ends_after_ten_seconds_unless_told_otherwise(self) -> None:
        assert TIMEOUT_SECONDS == 10
