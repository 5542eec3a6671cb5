from contextlib import AsyncExitStack

import pytest

from config.common.web.limits.errors import Busy
from config.common.web.limits.lanes import LARGE_BODY, Lanes, make_lanes
from config.common.web.limits.processor import HEAVY_SLOTS
from config.common.web.limits.shares import Caller, Standing
from config.common.web.limits.slots import Slots
from config.web_slots import web_slots


@pytest.fixture
def lanes() -> Lanes:
    return make_lanes(api=1, large=1, pages=1, sign_in=1, metrics=1)


@pytest.mark.parametrize(
    ("method", "path", "size", "lane"),
    [
        ("POST", "/api/v1/signals/", 100, "api"),
        ("GET", "/hearing", 0, "api"),
        ("POST", "/api/v1/messages/", LARGE_BODY, "api"),
        ("POST", "/api/v1/messages/", LARGE_BODY + 1, "large"),
        ("POST", "/admin/sensors/sensor/import/", LARGE_BODY + 1, "large"),
        ("GET", "/admin/", 0, "pages"),
        ("GET", "/admin/login/", 0, "pages"),
        ("POST", "/admin/login/", 100, "sign_in"),
        ("GET", "/metrics", 0, "metrics"),
        ("GET", "/", 0, "pages"),
        ("GET", "/nothing", 0, "pages"),
    ],
)
def test_each_kind_of_call_has_slots_of_its_own(lanes: Lanes, method: str, path: str, size: int, lane: str) -> None:
    chosen: Slots = getattr(lanes, lane)
    assert lanes.lane_of(method, path, size) is chosen


@pytest.mark.parametrize(("lane", "calls"), web_slots(32).items())
async def test_each_kind_has_so_many_and_not_one_more(lane: str, calls: int) -> None:
    chosen: Slots = getattr(make_lanes(**web_slots(32)), lane)
    chosen._patience = 0.02
    async with AsyncExitStack() as held:
        for _ in range(calls):
            await held.enter_async_context(chosen.lend(Caller("proxy", Standing.CROWD)))
        with pytest.raises(Busy):
            await held.enter_async_context(chosen.lend(Caller("proxy", Standing.CROWD)))


async def test_a_caller_has_one_large_call_at_once_however_many_are_free() -> None:
    chosen = make_lanes(api=1, large=12, pages=1, sign_in=1, metrics=1).large
    chosen._patience = 0.02
    anne, ben = Caller("anne", Standing.KNOWN), Caller("ben", Standing.KNOWN)
    async with chosen.lend(anne):
        with pytest.raises(Busy):
            async with chosen.lend(anne):
                pass
        async with chosen.lend(ben):
            pass


@pytest.mark.parametrize("lane", ["api", "pages"])
async def test_whoever_takes_much_of_the_processor_in_any_of_them_has_few_in_each(lane: str) -> None:
    lanes = make_lanes(api=12, large=12, pages=12, sign_in=1, metrics=1)
    chosen: Slots = getattr(lanes, lane)
    chosen._patience = 0.02
    anne, ben = Caller("anne", Standing.KNOWN), Caller("ben", Standing.KNOWN)
    async with AsyncExitStack() as held:
        for _ in range(HEAVY_SLOTS):
            await held.enter_async_context(chosen.lend(anne))
        lanes.processor.note(anne, 1.0)
        lanes.processor.note(ben, 0.1)
        with pytest.raises(Busy):
            await held.enter_async_context(chosen.lend(anne))
        await held.enter_async_context(chosen.lend(ben))
