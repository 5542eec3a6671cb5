import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

import aiohttp
import pytest
from aiohttp import web
from structlog.testing import capture_logs

from config.common.database.leases import lease_clock
from config.environment.table import SMS_BODY
from notifications.sending import sms, webhook
from notifications.sending.sms import fill_in, send_sms
from notifications.sending.transport import open_http_sessions
from notifications.sending.webhook import ClaimLapsed

NUMBER = "+375291234567"
BODY = {"type": "alert.raised", "id": 7, "title": 'Дверь "A&B" </x> \\ %(n)s', "detail": {"n": "{to}\r\nline"}}
TEXT = 'Postern: Дверь "A&B" </x> \\ {to} line http://127.0.0.1:8000/admin/notifications/alert/7/change/'


@dataclass
class Gateway:
    url: str = ""
    status: int = 200
    calls: list[tuple[str, str, dict[str, str], str]] = field(default_factory=list)


@pytest.fixture
async def gateway(settings: Any) -> AsyncIterator[Gateway]:
    """A gateway on the loopback that keeps the calls it gets."""
    made = Gateway()

    async def take(request: web.Request) -> web.Response:
        made.calls.append((request.method, str(request.query_string), dict(request.headers), await request.text()))
        return web.Response(status=made.status, text="taken" * 1000, headers={"Location": "/elsewhere"})

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", take)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    made.url = settings.SMS_URL = f"http://127.0.0.1:{runner.addresses[0][1]}/send"
    yield made
    await runner.cleanup()


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


class TestSendSms:
    async def test_posts_json_by_default(self, gateway: Gateway, session: aiohttp.ClientSession) -> None:
        answer = await send_sms(session, NUMBER, BODY)
        [(method, _, headers, body)] = gateway.calls
        assert (method, headers["Content-Type"]) == ("POST", "application/json")
        assert json.loads(body) == {"to": NUMBER, "text": TEXT}
        assert (answer.status, answer.body) == (200, ("taken" * 1000)[:1024])

    async def test_encodes_a_form(self, gateway: Gateway, session: aiohttp.ClientSession, settings: Any) -> None:
        settings.SMS_HEADERS = {"Content-Type": "application/x-www-form-urlencoded", "Authorization": "Basic x"}
        settings.SMS_BODY = "phone={to}&message={text}&from=Postern"
        await send_sms(session, NUMBER, BODY)
        [(_, _, headers, body)] = gateway.calls
        assert headers["Authorization"] == "Basic x"
        assert parse_qs(body) == {"phone": [NUMBER], "message": [TEXT], "from": ["Postern"]}

    async def test_encodes_the_url_of_a_get(
        self, gateway: Gateway, session: aiohttp.ClientSession, settings: Any
    ) -> None:
        settings.SMS_METHOD, settings.SMS_URL = "GET", f"{gateway.url}?to={{to}}&text={{text}}&key=k%2Fy"
        await send_sms(session, NUMBER, BODY)
        [(method, query, _, body)] = gateway.calls
        assert (method, body) == ("GET", "")
        assert parse_qs(query) == {"to": [NUMBER], "text": [TEXT], "key": ["k/y"]}

    async def test_encodes_xml(self, gateway: Gateway, session: aiohttp.ClientSession, settings: Any) -> None:
        settings.SMS_HEADERS = {"content-type": "text/xml; charset=utf-8"}
        settings.SMS_BODY = "<sms to='{to}'>{text}</sms>"
        await send_sms(session, NUMBER, BODY)
        assert 'A&amp;B" &lt;/x&gt;' in gateway.calls[0][3]

    async def test_a_long_text_is_cut(self, gateway: Gateway, session: aiohttp.ClientSession) -> None:
        await send_sms(session, NUMBER, {"title": "long " * 100})
        text = json.loads(gateway.calls[0][3])["text"]
        assert len(text) == 300
        assert text.endswith("…")

    @pytest.mark.parametrize("status", [302, 401, 500])
    async def test_what_the_gateway_answers_is_the_answer_and_no_redirect_is_followed(
        self, gateway: Gateway, session: aiohttp.ClientSession, status: int
    ) -> None:
        gateway.status = status
        answer = await send_sms(session, NUMBER, BODY)
        assert (answer.status, answer.ok, len(gateway.calls)) == (status, False, 1)

    async def test_a_gateway_that_is_not_there_is_a_failure_that_hides_the_url(
        self, session: aiohttp.ClientSession, settings: Any
    ) -> None:
        settings.SMS_URL = "http://127.0.0.1:9/send?key=secret"
        answer = await send_sms(session, NUMBER, BODY)
        assert answer.status is None
        assert answer.error
        assert "secret" not in answer.error

    async def test_nothing_leaves_where_the_lease_could_end_first(
        self, gateway: Gateway, session: aiohttp.ClientSession
    ) -> None:
        with pytest.raises(ClaimLapsed):
            await send_sms(session, NUMBER, BODY, until=lease_clock() + sms.TIMEOUT_SECONDS + 4)
        assert gateway.calls == []

    async def test_nothing_leaves_when_it_has_ended_while_the_connection_was_made(
        self, gateway: Gateway, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The process may have been stopped there."""
        monkeypatch.setattr(webhook, "lease_clock", lambda: 100.0)
        monkeypatch.setattr(sms, "lease_clock", lambda: 0.0)
        sessions = open_http_sessions()
        with pytest.raises(ClaimLapsed):
            await send_sms(sessions.gateway, NUMBER, BODY, until=100.0)
        await sessions.close()
        assert gateway.calls == []

    async def test_without_a_gateway_it_is_logged_and_succeeds(
        self, session: aiohttp.ClientSession, settings: Any
    ) -> None:
        settings.SMS_URL = None
        with capture_logs() as logs:
            answer = await send_sms(session, NUMBER, BODY)
        assert answer.ok
        assert [(line["event"], line["to"], line["text"]) for line in logs] == [("sms.console", NUMBER, TEXT)]


class TestFillIn:
    def test_a_text_that_names_a_place_stays_a_text(self) -> None:
        assert fill_in(SMS_BODY, {"to": "{text}", "text": "{to}"}, str) == '{"to": "{text}", "text": "{to}"}'
