import asyncio
from typing import Any

import pytest
from django.conf import settings

from config.common.web.limits.bodies import Spool
from config.common.web.limits.calls import Limits
from tests.config.common.web.limits.calls.far_side import LIMITS, Caller, limited, reading


class TestBodyLimit:
    async def test_lets_a_body_of_the_limit_through(self) -> None:
        caller = Caller(b"12345", b"67890", transfer_encoding="chunked")
        await caller.call(limited(reading))
        assert (caller.status, caller.got[1]["body"]) == (200, b"10")

    async def test_refuses_a_chunked_body_at_the_first_byte_past_the_limit(self) -> None:
        caller = Caller(*[b"x" * 1024] * 20_000, transfer_encoding="chunked")
        await caller.call(limited(reading))
        assert (caller.status, caller.error["code"], caller.headers[b"connection"]) == (413, "too_large", b"close")
        assert "Larger than the maximum of 10 bytes" in caller.error["message"]
        assert caller.read < 9_000_000, "a little is read on, so that the caller gets to see the answer"

    async def test_the_app_does_not_begin_before_the_body_is_whole(self) -> None:
        began: list[bytes] = []

        async def app(scope: Any, receive: Any, send: Any) -> None:
            began.append((await receive())["body"])
            await send({"type": "http.response.start", "status": 200, "headers": []})

        whole, refused = Caller(b"123", b"456"), Caller(b"1234567", b"1234567", transfer_encoding="chunked")
        await whole.call(limited(app))
        await refused.call(limited(app))
        assert (began, whole.status, refused.status) == ([b"123456"], 200, 413)

    async def test_what_is_refused_is_passed_on_and_nothing_else(self) -> None:
        seen: list[tuple[str, str]] = []
        app = Limits(
            reading, body_limits=LIMITS, on_refusal=lambda scope, refusal: seen.append((scope["path"], refusal.code))
        )
        await Caller(b"1234567890").call(app)
        await Caller(b"12345678901", path="/small/").call(app)
        assert seen == [("/small/", "too_large")]

    @pytest.mark.parametrize("length", ["11", "99999999999999999999999999"])
    async def test_refuses_an_announced_length_before_a_byte_of_it(self, length: str) -> None:
        caller = Caller(then="stalls", content_length=length)
        await asyncio.wait_for(caller.call(limited(reading)), 60)
        assert (caller.status, caller.error["data"], caller.read) == (413, {"limit": 10}, 0)

    async def test_takes_the_limit_of_the_first_path_that_fits(self) -> None:
        caller = Caller(b"x" * 99, path="/large/file/")
        await caller.call(limited(reading))
        assert caller.status == 200

    @pytest.mark.parametrize(
        ("path", "limit"),
        [
            ("/api/v1/signals/", settings.MB),
            ("/admin/login/", settings.MB),
            ("/api/v1/messages/", (settings.MESSAGE_MAX_MB + 1) * settings.MB),
            (f"/api/v1/exchange/processes/{'x' * 36}/prepare/", (settings.EXCHANGE_MAX_MB + 1) * settings.MB),
        ],
    )
    async def test_each_path_has_the_limit_of_the_settings(self, path: str, limit: int) -> None:
        app = Limits(reading, body_limits=settings.BODY_LIMITS)
        taken, refused = (Caller(path=path, content_length=str(length)) for length in (limit, limit + 1))
        for caller in (taken, refused):
            await caller.call(app)
        assert (taken.status, refused.status, refused.error["data"]) == (200, 413, {"limit": limit})


class TestPatience:
    async def test_a_body_that_stalls_is_refused(self) -> None:
        caller = Caller(b"123", then="stalls", transfer_encoding="chunked")
        await asyncio.wait_for(caller.call(limited(reading, spool=Spool(patience=0.05))), 60)
        assert (caller.status, caller.error["code"]) == (408, "body_stalled")

    async def test_a_slow_answer_is_waited_for(self) -> None:
        async def slow(scope: Any, receive: Any, send: Any) -> None:
            await asyncio.sleep(0.2)
            await reading(scope, receive, send)

        caller = Caller(b"123")
        await caller.call(limited(slow, spool=Spool(patience=0.05)))
        assert caller.status == 200

    async def test_a_caller_that_stops_reading_counts_as_gone(self) -> None:
        async def streaming(scope: Any, receive: Any, send: Any) -> None:
            await receive()
            await send({"type": "http.response.start", "status": 200, "headers": []})
            gone = asyncio.ensure_future(receive())
            while not gone.done():
                await send({"type": "http.response.body", "body": b"x", "more_body": True})
                await asyncio.sleep(0)
            assert gone.result()["type"] == "http.disconnect"

        caller = Caller()
        caller.reads = False
        await asyncio.wait_for(caller.call(limited(streaming, reader_patience=0.05)), 60)
        assert len(caller.got) == 1
