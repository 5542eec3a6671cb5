import asyncio

import pytest

from config.common.web.limits import pace
from config.common.web.limits.pace import Pace


async def test_who_has_nothing_to_wait_for_is_forgotten_once_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "MOST_NAMES", 2)
    kept = Pace(1e9, burst=1e9)
    for number in range(10):
        await kept.rest(f"caller {number}", 1)
        await asyncio.sleep(0.001)
    assert len(kept._next_at) <= 3


async def test_whoever_is_to_wait_however_long_is_never_refused() -> None:
    kept = Pace(1.0, burst=0)
    waiting = asyncio.ensure_future(kept.rest("anne", 1_000_000))
    await asyncio.sleep(0)
    assert not waiting.done()
    waiting.cancel()
