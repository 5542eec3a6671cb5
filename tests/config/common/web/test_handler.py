"""Whose share a call is counted against, once Django has found out who it is."""

from typing import Any

import pytest
from asgiref.sync import async_to_sync
from asgiref.testing import ApplicationCommunicator
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client

from config.access.keys import create_key
from config.asgi import application
from config.common.web import handler
from config.common.web.handler import SMALL_ANSWER
from config.common.web.limits.callers import known_callers
from config.common.web.limits.lanes import make_lanes
from config.common.web.limits.shares import Caller, Standing
from config.web_slots import web_slots

pytestmark = [pytest.mark.embedded, pytest.mark.django_db(transaction=True)]


async def call(path: str, name: bytes, credential: bytes) -> int:
    """Call the whole application, showing who it is; return the status."""
    scope = {
        "type": "http",
        "http_version": "1.1",
        "scheme": "http",
        "method": "GET",
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
