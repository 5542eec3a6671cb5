import asyncio
from typing import Any

import pytest

from config.common.web.limits.calls import Gate, given_caller, take_body
from config.common.web.limits.errors import Busy
from config.common.web.limits.shares import Caller as Known
from config.common.web.limits.shares import Standing
from tests.config.common.web.limits.calls.far_side import Caller, limited, reading, waiting


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
        await asyncio.wait_for(caller.call(app), 60)
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
        await asyncio.wait_for(socket.call(app), 60)
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
