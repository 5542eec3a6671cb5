from typing import Any

import pytest

from config.common.web.limits.buckets import Buckets, Metered
from config.common.web.limits.errors import TooManyCalls


class Clock:
    at = 1000.0

    def __call__(self) -> float:
        return self.at


class TestBuckets:
    def test_hold_so_many_and_not_one_more(self) -> None:
        buckets = Buckets(rate=1, burst=3, clock=Clock())
        assert [buckets.take("anne") for _ in range(4)] == [True, True, True, False]
        assert buckets.take("ben")

    def test_are_filled_at_the_rate(self) -> None:
        clock = Clock()
        buckets = Buckets(rate=2, burst=3, clock=clock)
        for _ in range(3):
            buckets.take("anne")
        clock.at += 0.4
        assert not buckets.take("anne")
        clock.at += 0.1
        assert [buckets.take("anne"), buckets.take("anne")] == [True, False]

    def test_hold_no_more_however_long_nobody_came(self) -> None:
        clock = Clock()
        buckets = Buckets(rate=2, burst=3, clock=clock)
        buckets.take("anne")
        clock.at += 1000
        assert [buckets.take("anne") for _ in range(4)] == [True, True, True, False]

    def test_a_look_takes_nothing(self) -> None:
        buckets = Buckets(rate=1, burst=1, clock=Clock())
        assert not buckets.is_empty("anne")
        assert buckets.take("anne")
        assert buckets.is_empty("anne")

    def test_of_too_many_names_the_oldest_are_forgotten(self) -> None:
        buckets = Buckets(rate=1, burst=1, most_names=2, clock=Clock())
        for name in ("anne", "ben", "cleo"):
            buckets.take(name)
        assert [buckets.is_empty(name) for name in ("anne", "ben", "cleo")] == [False, True, True]


class TestMetered:
    async def test_refuses_one_call_too_many_and_no_other_method_or_path(self) -> None:
        reached = []

        async def app(scope: Any, receive: Any, send: Any) -> None:
            reached.append((scope["method"], scope["path"]))

        gate: Any = Metered(
            app, method="POST", path="/in/", buckets=Buckets(rate=1, burst=1), name_of=lambda scope: "anne"
        )
        await gate({"type": "http", "method": "POST", "path": "/in/"}, None, None)
        with pytest.raises(TooManyCalls):
            await gate({"type": "http", "method": "POST", "path": "/in/"}, None, None)
        await gate({"type": "http", "method": "GET", "path": "/in/"}, None, None)
        await gate({"type": "http", "method": "POST", "path": "/out/"}, None, None)
        assert reached == [("POST", "/in/"), ("GET", "/in/"), ("POST", "/out/")]
