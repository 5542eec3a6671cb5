import asyncio
import time
from typing import Any

import pytest

from config.common.web.limits.callers import known_callers
from config.common.web.limits.calls import SMALL_ANSWER
from config.common.web.limits.pace import Pace
from tests.config.common.web.limits.calls.far_side import Caller, limited, reading


class TestLargeAnswers:
    async def test_of_one_caller_are_sent_at_its_rate_after_a_burst_and_nobody_else_waits(self) -> None:
        rested: list[tuple[str, int]] = []

        class Noted(Pace):
            async def rest(self, name: str, size: int) -> float:
                rested.append((name, size))
                return await super().rest(name, size)

        async def answering(scope: Any, receive: Any, send: Any) -> None:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            for _ in range(4):
                await send({"type": "http.response.body", "body": b"x" * SMALL_ANSWER, "more_body": True})
            await send({"type": "http.response.body", "body": b""})

        known_callers.remember(b"Bearer anne", "key anne")
        app = limited(answering, answers=Noted(20 * SMALL_ANSWER, burst=3 * SMALL_ANSWER))
        took = []
        for name in ("anne", "anne", "ben"):
            began = time.monotonic()
            await Caller(authorization=f"Bearer {name}").call(app)
            took.append(time.monotonic() - began)
        assert took[1] > 0.14 > max(took[0], took[2])
        assert rested == [("key anne", SMALL_ANSWER)] * 6 + [("", SMALL_ANSWER)] * 3

    async def test_what_is_small_waits_for_nothing(self) -> None:
        caller = Caller(b"1")
        await asyncio.wait_for(caller.call(limited(reading, answers=Pace(0.001, burst=0))), 60)
        assert caller.status == 200


class TestCorrelationId:
    async def test_takes_the_callers_own(self) -> None:
        caller = Caller(x_correlation_id="call-0001")
        await caller.call(limited(reading))
        assert caller.headers[b"x-correlation-id"] == caller.headers[b"x-id"] == b"call-0001"

    @pytest.mark.parametrize("sent", ["short", "x" * 65, "with space", "ünicode-id", ""])
    async def test_makes_one_instead_of_a_wrong_one(self, sent: str) -> None:
        caller = Caller(x_correlation_id=sent)
        await caller.call(limited(reading))
        assert len(caller.headers[b"x-correlation-id"]) == 32

    async def test_is_on_a_refusal_too(self) -> None:
        caller = Caller(x_correlation_id="call-0001", content_length="11")
        await caller.call(limited(reading))
        assert (caller.status, caller.headers[b"x-correlation-id"]) == (413, b"call-0001")

    async def test_is_there_once(self) -> None:
        async def app(scope: Any, receive: Any, send: Any) -> None:
            await send({"type": "http.response.start", "status": 204, "headers": [(b"X-Correlation-ID", b"other")]})

        caller = Caller(x_correlation_id="call-0001")
        await caller.call(limited(app))
        assert caller.got[0]["headers"] == [(b"x-correlation-id", b"call-0001")]


class TestFailures:
    @pytest.mark.parametrize(
        ("error", "status", "code"),
        [(OSError(28, "No space left"), 507, "disk_full"), (ZeroDivisionError("detail"), 500, "internal_error")],
    )
    async def test_answers_in_the_shape_of_every_error(self, error: Exception, status: int, code: str) -> None:
        async def failing(scope: Any, receive: Any, send: Any) -> None:
            raise error

        caller = Caller()
        await caller.call(limited(failing))
        assert (caller.status, caller.error["code"]) == (status, code)
        assert caller.headers[b"cache-control"] == b"no-store"
        assert "detail" not in caller.error["message"]

    async def test_other_protocols_pass(self) -> None:
        seen: list[str] = []

        async def app(scope: Any, receive: Any, send: Any) -> None:
            seen.append(scope["type"])

        caller = Caller()
        caller.scope["type"] = "websocket"
        await caller.call(limited(app))
        assert seen == ["websocket"]
