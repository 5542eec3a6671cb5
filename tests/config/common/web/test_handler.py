"""Whose share a call is counted against, once Django has found out who it is."""

import time
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from asgiref.testing import ApplicationCommunicator
from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.test import Client

from config.access.keys import create_key
from config.access.known_browser import remember_browser
from config.access.sign_in_limits import FORM_BURST
from config.asgi import _django, application
from config.common.web import handler
from config.common.web.limits.callers import known_callers
from config.common.web.limits.calls import SMALL_ANSWER
from config.common.web.limits.lanes import LARGE_BODY, Lanes, make_lanes
from config.common.web.limits.shares import Caller, Standing
from config.common.web.limits.slots import Slots
from config.common.web.rates import configured_rates
from config.runtime.metrics import REQUESTS
from config.web_slots import web_slots

pytestmark = [pytest.mark.embedded, pytest.mark.django_db(transaction=True)]


async def call(path: str, name: bytes, credential: bytes, method: str = "GET") -> int:
    """Call the whole application, showing who it is; return the status."""
    scope = {
        "type": "http",
        "http_version": "1.1",
        "scheme": "http",
        "method": method,
        "path": path,
        "query_string": b"",
        "headers": [(b"host", b"localhost"), (name, credential)],
        "client": ("192.0.2.7", 5000),
    }
    caller: Any = ApplicationCommunicator(application, scope)  # type: ignore[no-untyped-call]
    await caller.send_input({"type": "http.request", "body": b""})
    status: int = (await caller.receive_output(20))["status"]
    while (await caller.receive_output(20)).get("more_body", False):
        pass
    await caller.wait(20)
    return status


def test_a_key_that_is_right_is_known_from_then_on() -> None:
    key, text = create_key(name="desk", actor="test", scopes=["registry:read"])
    credential = f"Bearer {text}".encode()
    assert known_callers.find(credential) is None
    assert async_to_sync(call)("/api/v1/sensors/", b"authorization", credential) == 200
    assert known_callers.find(credential) == f"key {key.prefix}"


def test_one_that_is_wrong_is_not_though_its_prefix_is_right() -> None:
    _, text = create_key(name="desk", actor="test", scopes=["registry:read"])
    credential = f"Bearer {text[:-3]}xxx".encode()
    assert async_to_sync(call)("/api/v1/sensors/", b"authorization", credential) == 401
    assert known_callers.find(credential) is None


def test_nor_is_one_that_nobody_looked_at() -> None:
    assert async_to_sync(call)("/api/v1/docs/", b"authorization", b"Bearer whatever") == 200
    assert known_callers.find(b"Bearer whatever") is None


async def upload(path: str, key: str, *, cookie: str = "", size: int = 3_000_000) -> tuple[int, int]:
    """Send a large body with a key or a cookie, or without one; return the status and how much of it was taken."""
    scope = {
        "type": "http",
        "http_version": "1.1",
        "scheme": "http",
        "method": "POST",
        "path": path,
        "query_string": b"",
        "headers": [
            (b"host", b"localhost"),
            (b"content-type", b"application/json"),
            (b"transfer-encoding", b"chunked"),
            *([(b"authorization", f"Bearer {key}".encode())] if key else []),
            *([(b"cookie", cookie.encode())] if cookie else []),
        ],
        "client": ("192.0.2.8", 5000),
    }
    taken, statuses = 0, list[int]()

    async def receive() -> Any:
        nonlocal taken
        if statuses:  # it has its answer, and hangs up
            return {"type": "http.disconnect"}
        piece = b" " * min(65_536, size - taken)
        taken += len(piece)
        return {"type": "http.request", "body": piece, "more_body": taken < size}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    await application(scope, receive, send)  # type: ignore[arg-type]
    return statuses[0], taken


@pytest.mark.parametrize("kind", ["none", "wrong", "of another kind", "of another scope"])
def test_a_large_body_is_not_read_where_the_head_is_refused(kind: str) -> None:
    right = create_key(name="desk", actor="test", scopes=["registry:read"])[1]
    keys = {"none": "", "wrong": f"{right[:-3]}xxx"}
    paths = {"of another scope": "/api/v1/sensors/import/"}
    status, taken = async_to_sync(upload)(paths.get(kind, "/api/v1/messages/"), keys.get(kind, right), size=900_000)
    assert status == {"none": 401, "wrong": 401}.get(kind, 403)
    assert taken <= 3 * 65_536


def test_the_head_is_looked_at_in_a_slot_like_any_call(monkeypatch: pytest.MonkeyPatch) -> None:
    lent: list[Slots] = []
    lend = Slots.lend

    def note(slots: Slots, *call: Any) -> Any:
        lent.append(slots)
        return lend(slots, *call)

    monkeypatch.setattr(Slots, "lend", note)
    assert async_to_sync(upload)("/api/v1/messages/", "", size=900_000)[0] == 401
    assert lent == [_django._lanes.api]


def test_that_of_a_session_is_read_for_its_token_may_stand_in_it() -> None:
    browser = Client()
    browser.force_login(User.objects.create_superuser("anne", password="secret"))
    session = f"sessionid={browser.cookies['sessionid'].value}"
    assert async_to_sync(upload)("/api/v1/signals/", "", cookie=session, size=900_000)[1] == 900_000


def test_one_that_may_be_sent_is_read_and_counts_once() -> None:
    key, text = create_key(name="desk", actor="test", scopes=["signals:write"])
    before = REQUESTS.labels("POST", "api/v1/signals/", "4xx")._value.get()
    assert async_to_sync(upload)("/api/v1/signals/", text, size=900_000)[0] == 400  # spaces are no JSON
    assert REQUESTS.labels("POST", "api/v1/signals/", "4xx")._value.get() == before + 1
    at = time.time()
    assert configured_rates().count(f"key:{key.prefix}", at) == 2


@pytest.mark.parametrize(("size", "lane"), [(LARGE_BODY, "api"), (LARGE_BODY + 1, "large")])
def test_a_body_is_parsed_in_a_slot_for_its_size(size: int, lane: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: list[Slots] = []
    lane_of = Lanes.lane_of

    def note(lanes: Lanes, *call: Any) -> Slots:
        chosen.append(lane_of(lanes, *call))
        return chosen[-1]

    monkeypatch.setattr(Lanes, "lane_of", note)
    key = create_key(name="desk", actor="test", scopes=["signals:write"])[1]
    assert async_to_sync(upload)("/api/v1/signals/", key, size=size)[0] == 400
    assert chosen == [getattr(_django._lanes, lane)]


def test_what_a_call_computes_is_counted_for_its_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    noted: list[tuple[Caller, bool]] = []
    monkeypatch.setattr(_django._lanes.processor, "note", lambda caller, took: noted.append((caller, took > 0)))
    assert async_to_sync(call)("/api/v1/docs/", b"accept", b"*/*") == 200
    assert noted == [(Caller("192.0.2.7", Standing.STRANGER), True)]


def test_sign_ins_past_their_rate_cost_no_page_and_a_known_browser_has_its_own() -> None:
    request = HttpRequest()
    remember_browser(request, "root")
    known = f"{settings.KNOWN_BROWSER_COOKIE_NAME}={request._known_browser}".encode()  # type: ignore[attr-defined]
    strangers = [async_to_sync(sign_in)(b"a=b") for _ in range(FORM_BURST + 1)]
    assert 429 not in strangers[:FORM_BURST]
    assert strangers[FORM_BURST] == 429
    assert async_to_sync(sign_in)(known) != 429


async def sign_in(cookie: bytes) -> int:
    return await call("/admin/login/", b"cookie", cookie, method="POST")


def test_large_answers_that_wait_have_room_of_which_each_caller_has_a_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handler, "ANSWER_BYTES", 3 * SMALL_ANSWER + 3)
    anne, bert = Caller("anne", Standing.KNOWN), Caller("bert", Standing.KNOWN)
    handling = handler.ThreadedHandler(make_lanes(**web_slots(2)))
    small, large = HttpResponse(b"x" * SMALL_ANSWER), HttpResponse(b"x" * (SMALL_ANSWER + 1))
    assert [handling._make_room(each, anne) for each in (small, large, small)] == [0, SMALL_ANSWER + 1, 0]
    assert handling._make_room(large, anne) is None, "it keeps its slot"
    assert handling._make_room(large, bert) == SMALL_ANSWER + 1


def test_a_session_is_known_by_its_account() -> None:
    account = User.objects.create_superuser("anne", password="secret")
    browser = Client()
    browser.force_login(account)
    session = browser.cookies["sessionid"].value.encode()
    assert async_to_sync(call)("/admin/", b"cookie", b"theme=dark; sessionid=" + session) == 200
    assert known_callers.find(b"sessionid=" + session) == f"account {account.pk}"
