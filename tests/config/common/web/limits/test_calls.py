import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from django.conf import settings

from config.common.correlation import correlation_id
from config.common.web.limits.bodies import Spool
from config.common.web.limits.buckets import Buckets
from config.common.web.limits.callers import known_callers
from config.common.web.limits.calls import SMALL_ANSWER, Gate, Limits, given_caller, take_body
from config.common.web.limits.errors import Busy
from config.common.web.limits.pace import Pace
from config.common.web.limits.refusals import REPEATED_AFTER, REPEATED_SECONDS
from config.common.web.limits.shares import Caller as Known
from config.common.web.limits.shares import Standing

Message = dict[str, Any]
LIMITS = [("/large/", 100), ("/", 10)]


class Caller:
    """The far side of one call: what it sends, what it got."""

    def __init__(
        self, *chunks: bytes, then: str = "waits", path: str = "/", query: bytes = b"", **headers: str
    ) -> None:
        self.incoming: list[Message] = [{"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks]
        if then != "stalls":
            self.incoming.append({"type": "http.request", "body": b"", "more_body": False})
        self.scope: Any = {
            "type": "http",
            "method": "POST",
            "path": path,
            "query_string": query,
            "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()],
        }
        self.got: list[Message] = []
        self.read = 0
        self.reads = True

    async def receive(self) -> Any:
        if not self.incoming:
            await asyncio.Event().wait()
        message = self.incoming.pop(0)
        self.read += len(message["body"])
        return message

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.body" and not self.reads:
            await asyncio.Event().wait()
        self.got.append(message)

    async def call(self, app: Any) -> None:
        await app(self.scope, self.receive, self.send)

    @property
    def status(self) -> int:
        return int(self.got[0]["status"])

    @property
    def headers(self) -> dict[bytes, bytes]:
        return dict(self.got[0]["headers"])

    @property
    def error(self) -> Any:
        return json.loads(b"".join(message["body"] for message in self.got[1:]))


async def reading(scope: Any, receive: Any, send: Any) -> None:
    """An app like Django: reads the body, gives up when its caller is gone, then answers."""
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        size += len(message["body"])
        if not message["more_body"]:
            break
    await send({"type": "http.response.start", "status": 200, "headers": [(b"x-id", correlation_id().encode())]})
    await send({"type": "http.response.body", "body": b"%d" % size})


def limited(app: Callable[[Any, Any, Any], Awaitable[None]], **patience: Any) -> Limits:
    return Limits(app, body_limits=LIMITS, **patience)


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
        await asyncio.wait_for(caller.call(limited(reading)), 5)
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
        await asyncio.wait_for(caller.call(limited(reading, spool=Spool(patience=0.05))), 5)
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
        await asyncio.wait_for(caller.call(limited(streaming, reader_patience=0.05)), 5)
        assert len(caller.got) == 1


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
        await asyncio.wait_for(caller.call(limited(reading, answers=Pace(0.001, burst=0))), 5)
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


async def waiting(scope: Any, receive: Any, send: Any) -> None:
    await asyncio.Event().wait()


class TestGate:
    async def test_refuses_one_call_too_many_under_its_path(self) -> None:
        gate = Gate(waiting, path="/static/", calls=1)
        first = asyncio.ensure_future(Caller(path="/static/a").call(gate))
        await asyncio.sleep(0)
        with pytest.raises(Busy):
            await Caller(path="/static/b").call(gate)
        first.cancel()

    async def test_lets_the_next_in_when_one_has_ended(self) -> None:
        gate = Gate(reading, path="/", calls=1)
        for _ in range(3):
            caller = Caller()
            await caller.call(gate)
            assert caller.status == 200


class TestShare:
    async def test_one_address_has_only_so_many_calls_under_way(self) -> None:
        app = limited(waiting, calls=10)
        held = [asyncio.ensure_future(Caller().call(app)) for _ in range(3)]
        await asyncio.sleep(0)
        caller = Caller()
        await asyncio.wait_for(caller.call(app), 5)
        assert (caller.status, caller.error["code"], caller.headers[b"retry-after"]) == (503, "busy", b"1")
        other = Caller()
        other.scope["client"] = ("192.0.2.8", 1)
        held.append(asyncio.ensure_future(other.call(app)))
        await asyncio.sleep(0.01)
        assert other.got == [], "it is let in, and waits"
        for call in held:
            call.cancel()

    async def test_a_call_that_ended_makes_room_however_it_ended(self) -> None:
        async def failing(scope: Any, receive: Any, send: Any) -> None:
            raise ZeroDivisionError

        app = limited(failing, calls=1)
        for body in (b"1", b"1" * 11, b"1"):
            caller = Caller(body)
            await caller.call(app)
            assert caller.status in (413, 500)

    async def test_sockets_count_too(self) -> None:
        app = limited(waiting, calls=1)
        held = asyncio.ensure_future(Caller().call(app))
        await asyncio.sleep(0)
        socket = Caller()
        socket.scope["type"] = "websocket"
        await asyncio.wait_for(socket.call(app), 5)
        assert socket.got[0]["type"] == "websocket.close"
        held.cancel()

    async def test_the_app_is_told_whose_call_it_is_and_where_its_body_lies(self) -> None:
        seen: list[Any] = []

        async def app(scope: Any, receive: Any, send: Any) -> None:
            seen.extend([given_caller(scope), take_body(scope).size])
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(receive(), 0.01)

        caller = Caller(b"12345")
        caller.scope["client"] = ("2001:db8::1", 1)
        await caller.call(limited(app))
        assert seen == [Known("2001:db8::/64", Standing.STRANGER), 5]
