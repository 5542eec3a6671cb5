from typing import Any

import pytest

from config.common.web.limits.buckets import Buckets
from config.common.web.limits.callers import known_callers
from config.common.web.limits.calls import Limits
from config.common.web.limits.refusals import REPEATED_AFTER, REPEATED_SECONDS
from config.common.web.limits.shares import Caller as Known
from tests.config.common.web.limits.calls.far_side import LIMITS, Caller, limited, reading


class TestHead:
    @pytest.mark.parametrize(
        ("path", "query", "status"),
        [("/\0", b"", 404), ("/", b"a=%00", 400), ("/", b"a=\0", 400), ("/", b"a=\xff", 400), ("/", b"a=%FF", 200)],
    )
    async def test_refuses_text_that_no_column_takes(self, path: str, query: bytes, status: int) -> None:
        caller = Caller(path=path, query=query)
        await caller.call(limited(reading))
        assert caller.status == status


class TestRefusedEarly:
    async def test_a_large_body_of_a_call_that_is_refused_anyway_is_not_read(self) -> None:
        async def check_head(scope: Any, caller: Known) -> Any:
            return {"type": "http.response.start", "status": 403, "headers": []}, b'{"code":"forbidden"}'

        caller = Caller(*[b"x" * 65_536] * 200, path="/large/", transfer_encoding="chunked")
        app = Limits(reading, body_limits=[("/", 20_000_000)], check_head=check_head)
        await caller.call(app)
        assert (caller.status, caller.error) == (403, {"code": "forbidden"})
        assert b"x-correlation-id" in caller.headers
        assert caller.read < 9_000_000, "what lies in the buffers is discarded, so that the answer arrives"

    async def test_a_small_one_is_not_looked_at_twice(self) -> None:
        async def check_head(scope: Any, caller: Known) -> Any:
            raise AssertionError("not asked for")

        caller = Caller(b"12345")
        await caller.call(Limits(reading, body_limits=LIMITS, check_head=check_head))
        assert caller.status == 200


class TestRefusedOften:
    async def test_one_past_the_burst_is_told_to_come_back_before_the_app(self) -> None:
        app, asked = _refusing(burst=3)
        callers = [Caller(path="/api/v1/x/") for _ in range(4)]
        for caller in callers:
            await caller.call(app)
        assert [caller.status for caller in callers] == [401, 401, 401, 429]
        assert callers[-1].headers[b"retry-after"] == b"1"
        assert callers[-1].error["code"] == "throttled"
        assert len(asked) == 3

    async def test_a_key_that_is_right_may_still_do_something_else(self) -> None:
        app, _ = _refusing(burst=1)
        known_callers.remember(b"Bearer right", "key right")
        paths = ["/api/v1/x/", "/api/v1/x/", "/api/v1/y/"]
        callers = [Caller(path=path, authorization="Bearer right") for path in paths]
        for caller in callers:
            await caller.call(app)
        assert [caller.status for caller in callers] == [401, 429, 401]

    async def test_strangers_are_counted_by_their_address_whatever_key_they_make_up(self) -> None:
        app, _ = _refusing(burst=2)
        callers = [Caller(path=f"/api/v1/{number}/", authorization=f"Bearer {number}") for number in range(3)]
        other = Caller(path="/api/v1/x/")
        other.scope["client"] = ("192.0.2.9", 5000)
        for caller in (*callers, other):
            await caller.call(app)
        assert [caller.status for caller in (*callers, other)] == [401, 401, 429, 401]

    async def test_those_that_were_refused_before_their_bodies_count_too(self) -> None:
        async def check_head(scope: Any, caller: Known) -> Any:
            return {"type": "http.response.start", "status": 401, "headers": []}, b"{}"

        refused = Buckets(rate=0.001, burst=1)
        app = Limits(reading, body_limits=[("/", 200_000)], check_head=check_head, refused=refused)
        callers = [Caller(b"x" * 100_000, path="/api/v1/x/", content_length="100000") for _ in range(2)]
        for caller in callers:
            await caller.call(app)
        assert [caller.status for caller in callers] == [401, 429]

    async def test_a_key_that_goes_on_is_refused_from_memory_for_a_while_and_nobody_else(self) -> None:
        looked: list[str] = []

        async def check_head(scope: Any, caller: Known) -> Any:
            looked.append(caller.name)
            return {"type": "http.response.start", "status": 403, "headers": [(b"x-own", b"1")]}, b"{}"

        known_callers.remember(b"Bearer anne", "key anne")
        now = [1000.0]
        buckets = Buckets(rate=0.001, burst=100, clock=lambda: now[0])
        app = Limits(reading, body_limits=[("/", 200_000)], check_head=check_head, refused=buckets)
        app._refusals._clock = lambda: now[0]

        async def call(key: str, query: bytes = b"") -> Caller:
            body = b"x" * 100_000
            caller = Caller(
                body, path="/api/v1/x/", query=query, content_length="100000", authorization=f"Bearer {key}"
            )
            await caller.call(app)
            return caller

        for _ in range(REPEATED_AFTER + 1):
            await call("anne")
        assert len(looked) == REPEATED_AFTER + 1
        repeated = await call("anne")
        assert (repeated.status, repeated.headers[b"x-own"], repeated.headers[b"connection"]) == (403, b"1", b"close")
        assert len(repeated.headers[b"x-correlation-id"]) == 32
        assert len(looked) == REPEATED_AFTER + 1
        await call("anne", b"other=1")
        await call("ben")
        now[0] += REPEATED_SECONDS + 0.1
        await call("anne")
        assert len(looked) == REPEATED_AFTER + 4

    async def test_what_is_answered_is_not_counted(self) -> None:
        app = Limits(reading, body_limits=LIMITS, refused=Buckets(rate=1, burst=1))
        callers = [Caller(path="/api/v1/x/") for _ in range(3)]
        for caller in callers:
            await caller.call(app)
        assert [caller.status for caller in callers] == [200, 200, 200]


def _refusing(burst: int) -> tuple[Limits, list[str]]:
    """An app that knows nobody, and who has asked it."""
    asked: list[str] = []

    async def refuse(scope: Any, receive: Any, send: Any) -> None:
        asked.append(scope["path"])
        await send({"type": "http.response.start", "status": 401, "headers": []})
        await send({"type": "http.response.body", "body": b"{}"})

    return Limits(refuse, body_limits=LIMITS, refused=Buckets(rate=0.001, burst=burst)), asked
